import type { ToolDefinition } from '#contracts/model.ts'
import type { BuildSearchIndex, SearchDocument } from '#contracts/search.ts'
import { parametersOf } from './schema.ts'
import type { Step } from './steps.ts'

export interface Candidate {
  readonly tool: ToolDefinition
  /** The step without the words that name the tool ("use kv to"). */
  readonly step: Step
  /** The words besides the verb, if the step names the tool or the tool is called like the verb. */
  readonly rest?: Step | undefined
  /** Clear enough to be called without an argument. */
  readonly isClear: boolean
}

/** How tools are named that do what a verb says. None of these destroys anything: that has to be said. */
const alikes: readonly (readonly [verbs: RegExp, names: string])[] = [
  [/^(?:fetch|read|open|show)$/, 'get read list recall'],
  [/^(?:check|look|review)$/, 'review read'],
  [/^(?:change|keep|put|save|store)$/, 'set write'],
  [/^send$/, 'request'],
  [/^remember$/, 'note'],
]
const destroys = /delete|remove|clear|erase|drop|purge|reset|cancel|stop/i
/** "Use kv to …", "let code-reviewer …", "kv__set …". */
const address =
  /^(?<verb>(?:use|with|call|run|ask|let|have|tell) (?:the )?)?(?<name>[\w-]+)(?:[,:]|,? (?:to|for|and|with|on)\b)? ?/i

/** Finds the tools that a step may mean, best first, with the index that the agents' own search uses. */
export function createToolChooser(tools: readonly ToolDefinition[], buildIndex: BuildSearchIndex) {
  const documents = tools.map(toDocument)
  const everything = buildIndex(documents)
  const nameOnly = { owner: '', description: '', parameters: '' }
  const names = buildIndex(documents.map((document) => ({ ...document, ...nameOnly })))
  const namedLike = (words: string) =>
    new Set(
      names.search([words], tools.length).flatMap(({ id, matched }) => (matched[0] ? [id] : [])),
    )

  return (asked: Step): readonly Candidate[] => {
    const [opening = '', asking, name = ''] = address.exec(asked.text) ?? []
    const isAsked = ({ id, owner }: SearchDocument) => id === name || (asking && owner === name)
    const addressed = documents.filter(isAsked).map(({ id }) => id)
    // Called by its full name and not among these: another one is not what was meant.
    if (addressed.length === 0 && /\w__\w/.test(asked.text)) return []
    const text = addressed.length > 0 ? asked.text.slice(opening.length) : asked.text
    const verb = /^\p{L}*/u.exec(text)?.[0].toLowerCase() ?? ''
    const alike = alikes.find(([verbs]) => verbs.test(verb))?.[1] ?? ''
    const [byVerb, byAlike, byWord] = [namedLike(verb), namedLike(alike), namedLike(text)]

    return everything
      .search([[...addressed, verb, alike, text].join(' ')], tools.length)
      .filter(({ id }) => addressed.length === 0 || addressed.includes(id))
      .flatMap(({ id, matched }) => {
        const tool = tools.find((one) => one.name === id)
        const isClear = addressed.length > 0 || matched.length > 1
        const isNamed = byVerb.has(id) || addressed.length === 1
        const isGuess = isClear && byWord.has(id) && !destroys.test(id)
        const rank = isNamed ? 3 : byAlike.has(id) ? 2 : Number(isGuess)
        const step = { ...asked, text }
        const rest = {
          ...asked,
          text: byVerb.has(id) ? text.slice(verb.length).replace(/^[\s:,]+/, '') : text,
        }
        return tool && rank > 0 ? [{ tool, step, isClear, rank, ...(isNamed && { rest }) }] : []
      })
      .toSorted((a, z) => z.rank - a.rank)
  }
}

function toDocument({ name: id, description, inputSchema }: ToolDefinition): SearchDocument {
  const [, owner = '', own = id] = /^(.+?)__(.+)$/.exec(id) ?? []
  // Every agent's tool is called `run`: its owner's name tells agents apart.
  const name = own === 'run' && owner !== '' ? owner : own
  // "DO NOT USE for …" names what a tool is not for.
  const what = description.replace(/\b(?:do not|don't|never)\b[^.!?\n]*/gi, '')
  const parameters = parametersOf(inputSchema).map((one) => one.name)
  return { id, owner, name, description: what, parameters: parameters.join(' ') }
}
