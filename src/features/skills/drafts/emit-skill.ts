import { headOf } from '#contracts/cut.ts'
import { joinLabels, type Label } from '#contracts/label.ts'
import type {
  DraftBudget,
  DraftWriting,
  EmitSkill,
  Emitted,
  OverBudget,
  SketchedText,
  SkillDraftStore,
} from '#runtime/catalog/types/skill-draft.ts'
import type { Clock } from '#contracts/sources.ts'
import { readGiven, toWrittenSkill } from './draft-text.ts'
import { nearlySame, similarity, sketchOf } from './similarity.ts'
import type { ReadBundleDeps } from '../admission/read-bundle.ts'

/** What a run and a principal may write, and what may wait for an operator at once. */
export const draftBudget: DraftBudget = { perRun: 5, perDay: 20, openOfPrincipal: 50, open: 500 }
/** Somebody else's draft may come between looking and adding. */
const maxTries = 4
const mark = '[redacted]'

export interface EmitSkillDeps extends ReadBundleDeps {
  readonly store: Pick<SkillDraftStore, 'take' | 'sketches' | 'add' | 'merge'>
  readonly clock: Pick<Clock, 'nowMs'>
  /** Takes secrets out of a text. */
  readonly redact: (text: string) => string
  /** Names of the skills that ship. May reject. */
  readonly shipped: () => Promise<readonly string[]>
  /** What a run has done by now. */
  readonly doneIn: (
    run: Pick<DraftWriting, 'principal' | 'session' | 'run'>,
  ) => Promise<Pick<DraftWriting, 'model' | 'tools'>>
}

/** Keeps what an agent wrote as a draft, which nobody finds and nothing loads until an operator has promoted it (docs/skills.md). */
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

/** @returns The draft that has it now, if it is the writer's own: what others wrote is theirs. */
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
 * The newer text is kept, since whoever wrote it had done the task once more; not the longer one, since a text would
 * only ever grow. But nobody writes over what is another principal's, and nothing that was written after reading worse
 * takes the place of what was not (docs/security.md T23).
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

const refuse = (message: string): Emitted => ({ ok: false, message })
const marksIn = (text: string): number => text.split(mark).length - 1

const overTexts: Readonly<Record<OverBudget, string>> = {
  perRun: `This run has written ${draftBudget.perRun} drafts already, which is the most. Go on without.`,
  perDay: `${draftBudget.perDay} drafts were written today, which is the most. Go on without.`,
  openOfPrincipal: `${draftBudget.openOfPrincipal} drafts wait for an operator, which is the most. Go on without.`,
  open: 'Too many drafts wait for an operator. Go on without.',
}
