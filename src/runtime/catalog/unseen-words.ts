import type { Json, JsonObject } from '#contracts/json.ts'
import { joinLabels, ownLabel, type Label } from '#contracts/label.ts'
import type { HookSubject, ToolHooks, UnseenWords } from '#runtime/kernel/types/policy.ts'
import type { ToolContext } from '#contracts/tool.ts'
import { loadOutput, type OutputSpaces } from './output-tool.ts'

/**
 * The handle of words: the result's own handle, and the name of the requested field. No tool result has such a handle.
 */
export const wordsHandle = (result: string, field: string): string => `${result}.${field}`
const isOfWords = (handle: string): boolean => /^[^.]+\.[^.]+\..+\.[A-Za-z]\w*$/.test(handle)

/** Stands for words that a model has not seen, in the input of a call: their handle. */
export const placeholderOf = (handle: string): string => `{{${handle}}}`

const space = 'unseen'
const quotaBytes = 1_048_576
/** The most placeholders in one call: each may stand for a text as long as the material. */
const maxPlaceholders = 100
const placeholder = /\{\{([\w.:-]{1,300})\}\}/g

type Caller = Pick<ToolContext, 'rootSession'>

interface Filled extends Pick<UnseenWords, 'parts' | 'label'> {
  readonly input: JsonObject
}

/**
 * Fills calls with words that a narrow reader read for a model, without showing them to the model. Gates and approvers
 * see the call with the words and their label; the model's own context stays as it was.
 */
export function createUnseenWords(sessions: OutputSpaces) {
  const takers = new WeakMap<JsonObject, { readonly but: string | undefined }>()
  const filled = new WeakMap<JsonObject, UnseenWords>()
  return {
    /** The words that were put into this very input. */
    in: (input: JsonObject): UnseenWords | undefined => filled.get(input),
    /**
     * Allows this very input to be filled. Only for calls whose result can be kept aside, since it may repeat the
     * words. The parameter `but` may have none.
     */
    accept: (input: JsonObject, but?: string): void => void takers.set(input, { but }),
    /**
     * The label of all words that calls of this session tree were filled with: other code may repeat them in a later
     * call. Least trusted if the label cannot be read.
     */
    told: async ({ rootSession: key }: Caller): Promise<Label | undefined> => {
      const kept = sessions.at(key).storage({ verb: 'get', space, key })
      const { value, label } = await kept.catch(() => ({ value: true, label: undefined }))
      return value === undefined ? undefined : joinLabels([label])
    },
    /** Runs before all other hooks, so that these see the filled input. */
    around: (hooks: ToolHooks): ToolHooks => ({
      ...hooks,
      async before(subject) {
        const taker = takers.get(subject.input)
        const words = taker && (await fill(subject, sessions, taker.but))
        if (!words) return hooks.before(subject)
        if ('message' in words) return { veto: true, ...words }
        await keepTold(subject, words.label, sessions)
        const label = joinLabels([subject.label, words.label])
        const verdict = await hooks.before({ ...subject, input: words.input, label })
        if (verdict.veto) return verdict
        const { input = words.input } = verdict
        const changed = verdict.input ? joinLabels([verdict.label]) : ownLabel
        // A hook may have moved the words to any parameter.
        const anywhere = { label: words.label, isLink: false }
        const parts = verdict.input
          ? Object.keys(input).map((parameter) => ({ parameter, ...anywhere }))
          : words.parts
        filled.set(input, { ...words, parts, own: joinLabels([subject.label, changed]) })
        return { veto: false, input, label: joinLabels([words.label, changed]) }
      },
    }),
  }
}

/** Stored before any code gets the words: hooks get them even if the call is refused. */
async function keepTold(
  { rootSession: key }: Caller,
  label: Label,
  sessions: OutputSpaces,
): Promise<void> {
  const value = { verb: 'set', space, key, value: true, quotaBytes, label, joins: true } as const
  const { error } = await sessions.at(key).storage(value)
  if (error !== undefined) throw new Error(error)
}

/** The input with the words in it, or which of them there are not; nothing where it has no place for any. */
async function fill(
  { input, session, rootSession }: HookSubject,
  sessions: OutputSpaces,
  but: string | undefined,
): Promise<Filled | { readonly message: string; readonly label: Label } | undefined> {
  const handlesIn = (value: Json | undefined) =>
    [...JSON.stringify(value ?? null).matchAll(placeholder)]
      .map(([, handle = '']) => handle)
      .filter((handle) => handle.startsWith(`${session}.`))
  const all = handlesIn(input)
  const handles = [...new Set(all)]
  if (handles.length === 0) return undefined
  if (but !== undefined && handlesIn(input[but]).length > 0)
    return {
      message: `${but}: a placeholder stands for words that you have not seen, which are not put in there. Give it to another tool, in a call of its own.`,
      label: ownLabel,
    }
  if (all.length > maxPlaceholders)
    return {
      message: `The input has ${all.length} placeholders; there may be at most ${maxPlaceholders} in one call.`,
      label: ownLabel,
    }
  const found = new Map<string, { text: string; label: Label; isLink: boolean }>()
  for (const handle of handles) {
    const kept = await loadOutput(sessions, handle, { rootSession, session })
    if ('error' in kept) return { message: kept.error.message, label: ownLabel }
    const { words, link } = Object(JSON.parse(kept.text)) as Readonly<Record<string, Json>>
    const text = link ?? words
    if (!isOfWords(handle) || typeof text !== 'string') {
      const message = `"${handle}" is a whole result. Ask isola__read_values for a string of it, and put that in.`
      return { message, label: ownLabel }
    }
    found.set(handle, { text, label: joinLabels([kept.label]), isLink: link !== undefined })
  }
  const change = (value: Json): Json => {
    if (typeof value === 'string')
      return value.replace(placeholder, (whole, handle: string) => found.get(handle)?.text ?? whole)
    if (Array.isArray(value)) return value.map(change)
    if (value === null || typeof value !== 'object') return value
    return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, change(one)]))
  }
  const parts = Object.entries(input).flatMap(([parameter, value]) => {
    const words = handlesIn(value).map((handle) => found.get(handle)!)
    if (words.length === 0) return []
    const isLink = words.every((one) => one.isLink) && value === placeholderOf(handlesIn(value)[0]!)
    return [{ parameter, label: joinLabels(words.map(({ label }) => label)), isLink }]
  })
  const label = joinLabels([...found.values()].map((one) => one.label))
  return { input: change(input) as JsonObject, parts, label }
}
