import type { JsonObject } from '#contracts/json.ts'
import type { Administrator } from '#contracts/keys.ts'
import type { Label } from '#contracts/label.ts'
import type { ToolContext } from '#contracts/tool.ts'

/** One writing of a draft by an agent. */
export interface DraftWriting {
  readonly session: string
  readonly run: string
  readonly call: string
  readonly principal: string
  readonly agent: string
  /** Provider and name of the model that wrote it; absent if the session does not know. */
  readonly model?: string
  /** The tools that the run had called by then, at most 50. */
  readonly tools: readonly string[]
  /** The label of everything that its writer had read. */
  readonly label: Label
  /** sha-256 of the files as they were written this time. */
  readonly hash: string
  readonly atMs: number
}

/** The text of a draft, as it would be installed. */
export interface DraftText {
  readonly name: string
  readonly description: string
  readonly requires: readonly string[]
  /** The hash that an installed skill with these files has: promoting keeps it. */
  readonly hash: string
  /** Text by path; `SKILL.md` is one of them. */
  readonly files: Readonly<Record<string, string>>
}

/** The front matter of a draft's SKILL.md. The runtime builds it from the draft's fields, so no other text gets in. */
export const draftFields = ({
  name,
  description,
  requires,
}: Pick<DraftText, 'name' | 'description' | 'requires'>) => ({
  name,
  description,
  ...(requires.length > 0 && { metadata: { 'isola-requires': requires.join(' ') } }),
})

/** With what another text is compared with. */
export type SketchedText = DraftText & { readonly sketch: string }

/** A draft in a list. Nothing finds it and nothing loads it. */
export interface DraftSummary extends Omit<DraftText, 'files'> {
  readonly id: string
  /** A promoted draft stays, as the record of where its skill came from. */
  readonly state: 'open' | 'promoted'
  /** The principal of the run that wrote the current text. */
  readonly principal: string
  /** The label of the run that wrote the current text. */
  readonly label: Label
  /** How often it, or nearly the same, was written. */
  readonly count: number
  readonly firstAtMs: number
  readonly lastAtMs: number
  readonly promotedBy?: string
  readonly promotedAtMs?: number
}

/** A draft with its files and the last times that it was written, newest first, at most 50. */
export interface SkillDraft extends DraftSummary, Pick<DraftText, 'files'> {
  readonly writings: readonly DraftWriting[]
}

/** The part of a draft that a new text is compared with. */
interface DraftSketch extends Pick<DraftSummary, 'id' | 'principal' | 'label'> {
  readonly sketch: string
}

/** How much may be written. */
export interface DraftBudget {
  readonly perRun: number
  readonly perDay: number
  /** The numbers of open drafts: of one principal, and of the deployment. */
  readonly openOfPrincipal: number
  readonly open: number
}

/** Why a write does not fit its budget. */
export type OverBudget = keyof DraftBudget

/** The store of drafts. Each verb throws `request_unavailable`. */
export interface SkillDraftStore {
  /**
   * Counts a write for its run and its principal's day (UTC), and checks the budgets in the same step. The same call
   * again counts once.
   *
   * @returns The budget that is used up, if any.
   */
  readonly take: (
    writing: DraftWriting,
    budget: Pick<DraftBudget, 'perRun' | 'perDay'>,
  ) => Promise<OverBudget | undefined>
  /** Open drafts, and a mark of the newest of all: `add` is refused once there is a newer one. */
  readonly sketches: () => Promise<{
    readonly mark: number
    readonly drafts: readonly DraftSketch[]
  }>
  /**
   * @returns `late` if another draft came after `mark`, or the budget that is used up. The same id again changes
   *   nothing.
   */
  readonly add: (
    draft: SketchedText & { readonly id: string },
    writing: DraftWriting,
    room: Pick<DraftBudget, 'open' | 'openOfPrincipal'> & { readonly mark: number },
  ) => Promise<'late' | OverBudget | undefined>
  /**
   * Counts one more writing of an open draft.
   *
   * @param text Replaces the draft's text, if given.
   * @returns Whether the draft was still open.
   */
  readonly merge: (
    id: string,
    writing: DraftWriting,
    text: SketchedText | undefined,
  ) => Promise<boolean>
  readonly list: (limit: number) => Promise<readonly DraftSummary[]>
  readonly find: (id: string) => Promise<SkillDraft | undefined>
  /** Promotes the draft together with its event. @returns Whether it was open with this text. */
  readonly promote: (id: string, hash: string, by: Administrator) => Promise<boolean>
  /** Removes the draft together with its event. @returns Whether it existed. */
  readonly remove: (id: string, by: Administrator) => Promise<boolean>
}

/** The outcome of a write: a `message` says what to change. */
export type Emitted =
  | {
      readonly ok: true
      /** Absent if it became one more writing of another principal's draft. */
      readonly draft?: string
      readonly name: string
      readonly hash: string
      /** Secrets that were taken out of its text. */
      readonly redacted: number
    }
  | { readonly ok: false; readonly message: string }

/** Stores an agent's text as a draft. Throws `request_unavailable`. */
export type EmitSkill = (
  input: JsonObject,
  context: Pick<ToolContext, 'session' | 'run' | 'call' | 'principal' | 'agent' | 'label'>,
) => Promise<Emitted>
