import { defined } from '#contracts/defined.ts'
import { headOf } from '#contracts/cut.ts'
import type { StreamItem } from '#contracts/event.ts'
import { joinLabels, type Label } from '#contracts/label.ts'
import type {
  DraftBudget,
  DraftWriting,
  EmitSkill,
  SkillWriting,
  OverBudget,
  SketchedText,
} from '#runtime/catalog/types/skill-catalog.ts'
import type { Clock } from '#contracts/sources.ts'
import type { SkillDraftStore } from '../store/skill-drafts.ts'
import { readGiven, toWrittenSkill } from './draft-text.ts'
import type { ReadBundleDeps } from '../admission/read-bundle.ts'

/** So many of the smallest hashes stand for a text; a text with fewer pairs is compared exactly. */
const sketchSize = 200

/**
 * Two texts with so much in common are nearly the same. Of 6,670 pairs of public skills none has it: the most alike,
 * two
 * of one template, have 0.45. With a tenth of the words changed and a tenth of the lines left out each still has it
 * (decision 0089).
 */
export const nearlySame = 0.5

/** In scripts without blanks between words, each character is a word. */
const word = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}]|[\p{L}\p{N}]+/gu

/**
 * The sketch of a text for comparisons: the smallest hashes of its pairs of neighbouring words, without case and
 * punctuation. Always the same for the same text.
 */
export function sketchOf(text: string): string {
  const words = text.normalize('NFKC').toLowerCase().match(word) ?? []
  const pairs =
    words.length === 1 ? words : words.slice(1).map((next, at) => `${words[at]} ${next}`)
  const hashes = new Set(pairs.map((pair) => hashOf(pair).toString(36).padStart(7, '0')))
  return [...hashes].toSorted().slice(0, sketchSize).join(' ')
}

/** How much of all pairs of two texts both have, 0 to 1: the Jaccard index, of the smallest hashes of both together. */
export function similarity(one: string, other: string): number {
  const [left, right] = [hashesIn(one), hashesIn(other)]
  let [at, beside, all, both] = [0, 0, 0, 0]
  // Both are sorted; beyond the smallest of both nothing is known of the rest.
  while (all < sketchSize && (at < left.length || beside < right.length)) {
    const [mine, theirs] = [left[at] ?? last, right[beside] ?? last]
    if (mine <= theirs) at += 1
    if (theirs <= mine) beside += 1
    if (mine === theirs) both += 1
    all += 1
  }
  return all === 0 ? 0 : both / all
}

/** Sorts behind every hash. */
const last = '~'
const hashesIn = (sketch: string): readonly string[] => (sketch === '' ? [] : sketch.split(' '))

/** FNV-1a with a last mix, 32 bits: fast, and no secret depends on it. */
function hashOf(text: string): number {
  let hash = 0x811c9dc5
  for (let at = 0; at < text.length; at += 1)
    hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193)
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b)
  return (hash ^ (hash >>> 13)) >>> 0
}

/** The most drafts of a run and a principal, and the most that may wait for an operator at once. */
export const draftBudget: DraftBudget = { perRun: 5, perDay: 20, openOfPrincipal: 50, open: 500 }
/** Another principal's draft may land between the look and the write. */
const maxTries = 4
const mark = '[redacted]'

export interface EmitSkillDeps extends ReadBundleDeps {
  readonly store: SkillDraftStore
  readonly clock: Pick<Clock, 'nowMs'>
  /** Takes secrets out of a text. */
  readonly redact: (text: string) => string
  /** Names of the skills that ship. May reject. */
  readonly shipped: () => Promise<readonly string[]>
  /** The work of a run so far. */
  readonly doneIn: (
    run: Pick<DraftWriting, 'principal' | 'session' | 'run'>,
  ) => Promise<Pick<DraftWriting, 'model' | 'tools'>>
}

/**
 * Stores an agent's text as a draft. No search finds and no agent loads a draft until an operator has promoted it
 * (docs/skills.md).
 */
export function createEmitSkill(deps: EmitSkillDeps): EmitSkill {
  const { store, clock, redact, doneIn, shipped } = deps
  return async (input, { session, run, call, principal, agent, label: read }) => {
    let redacted = 0
    const takeOut = (text: string) => {
      const rest = redact(text)
      redacted += marksIn(rest) - marksIn(text)
      return rest
    }
    const given = readGiven(input, takeOut)
    const done = await doneIn({ principal, session, run })
    const written = toWrittenSkill(given, done.tools, deps)
    if (typeof written === 'string') return refuse(written)
    const { text, words } = written
    const { name, hash } = text
    // Such a draft could never be installed.
    if ((await shipped()).includes(name))
      return refuse(`name: "${name}" is that of a skill that ships. Choose another one.`)
    const label = joinLabels([read])
    const by = { session, run, call, principal, agent, ...done }
    const writing = { ...by, label, hash, atMs: clock.nowMs() }
    const over = await store.take(writing, draftBudget)
    if (over) return refuse(overTexts[over])
    const kept = await keep({ ...text, sketch: sketchOf(words) }, writing, deps)
    return 'why' in kept ? refuse(kept.why) : { ok: true, ...kept, name, hash, redacted }
  }
}

/** @returns The draft, if it is the writer's own: other principals' drafts are not shown. */
async function keep(
  text: SketchedText,
  writing: DraftWriting,
  { store, sha256 }: Pick<EmitSkillDeps, 'store' | 'sha256'>,
): Promise<{ readonly draft?: string } | { readonly why: string }> {
  for (let tries = 0; tries < maxTries; tries += 1) {
    const { mark: seen, drafts } = await store.sketches()
    const near = drafts
      .map((draft) => ({ draft, alike: similarity(draft.sketch, text.sketch) }))
      .filter(({ alike }) => alike >= nearlySame)
      .toSorted((one, other) => other.alike - one.alike)[0]?.draft
    if (near) {
      if (await store.merge(near.id, writing, takesPlace(writing, near) ? text : undefined))
        return near.principal === writing.principal ? { draft: near.id } : {}
    } else {
      const id = `drf_${headOf(sha256(`draft ${writing.run} ${writing.call}`), 22)}`
      const over = await store.add({ ...text, id }, writing, { ...draftBudget, mark: seen })
      if (over === undefined) return { draft: id }
      if (over !== 'late') return { why: overTexts[over] }
    }
  }
  return { why: 'Other drafts are being written at this moment. Try again.' }
}

/**
 * The newer text replaces the older, since its agent had done the task once more. The longer text does not win: texts
 * would only grow. But a principal never overwrites another principal's draft, and a text written after reading worse
 * material never replaces a better one (docs/security.md T23).
 */
const takesPlace = (
  { principal, label }: DraftWriting,
  draft: { readonly principal: string; readonly label: Label },
): boolean => {
  const both = joinLabels([label, draft.label])
  const isAsGood =
    both.integrity === draft.label.integrity && both.confidentiality === draft.label.confidentiality
  return principal === draft.principal && isAsGood
}

const refuse = (message: string): SkillWriting => ({ ok: false, message })
const marksIn = (text: string): number => text.split(mark).length - 1

const overTexts: Readonly<Record<OverBudget, string>> = {
  perRun: `This run has written ${draftBudget.perRun} drafts already, which is the most. Go on without.`,
  perDay: `${draftBudget.perDay} drafts were written today, which is the most. Go on without.`,
  openOfPrincipal: `${draftBudget.openOfPrincipal} drafts wait for an operator, which is the most. Go on without.`,
  open: 'Too many drafts wait for an operator. Go on without.',
}

const maxTools = 50
const ownPrefix = 'isola__'

/**
 * The model that answered last in a run, and the tools that the run called, without the core's: the origin of a draft.
 */
export function doneIn(log: readonly StreamItem[]): Pick<DraftWriting, 'model' | 'tools'> {
  const models = log.flatMap((item) =>
    item.type === 'model_called' ? [`${item.data.provider}/${item.data.model}`] : [],
  )
  const tools = log.flatMap((item) =>
    item.type === 'tool_started' && !item.data.tool.startsWith(ownPrefix) ? [item.data.tool] : [],
  )
  const model = models.at(-1)
  return {
    ...defined({ model }),
    tools: [...new Set(tools)].slice(0, maxTools),
  }
}
