import { IsolaError } from '#contracts/errors.ts'
import type { AddedText } from '#runtime/kernel/types/agent-pin.ts'
import { joinLabels } from '#contracts/label.ts'
import type { HookPoint } from '#runtime/catalog/types/permit.ts'
import type { Message } from '#contracts/message.ts'
import type { ModelReply, ModelRequest } from '#contracts/model.ts'
import type { Planner, PlannerState } from '#runtime/kernel/types/plan.ts'
import type { HookEvent } from '#features/plugins/types/plugin.ts'
import type { LoadedPlugin } from '../loading/in-process-host.ts'
import { type Answered, listenersAt, vetoText, askOne, type HooksDeps } from './ask-point.ts'
import { toHookContext } from './hook-context.ts'

/** The hook points of a run other than tool calls. */
const modelPoints = [
  'sessionStart',
  'sessionReset',
  'beforeDispatch',
  'beforeModelCall',
  'afterModelCall',
] as const

/** Wraps a planner with hooks: before the first run of a session, before a user's task, and around each model call. */
export function withModelHooks(
  planner: Planner,
  plugins: readonly LoadedPlugin[],
  deps: HooksDeps,
): Planner {
  if (modelPoints.every((on) => listenersAt(plugins, on).length === 0)) return planner
  const ask = createAsk(plugins, deps)
  const added = createAdded(plugins)
  return {
    async plan(state) {
      const { caller, turn, messages } = state
      // A run that was interrupted before its first turn was written passes here again.
      if (turn === 1 && caller.opening === 'start') await ask('sessionStart', state)
      if (turn === 1 && caller.opening === 'reset') await ask('sessionReset', state)
      if (turn === 1 && caller.depth === 0)
        refuse(state, await ask('beforeDispatch', state, { text: lastSaid(messages) }), 'this task')
      return planner.plan({ ...state, generate: hookedGenerate(state, ask, added(state)) })
    },
  }
}

/**
 * Wraps the model call that summarizes an overlong conversation: hooks see it like any other model call, under a name
 * of its own, so that they can count each call. After a veto the conversation is shortened by rule instead.
 */
export function createSummaryHooks(
  plugins: readonly LoadedPlugin[],
  deps: HooksDeps,
): (state: PlannerState) => PlannerState['generate'] {
  const points = ['beforeModelCall', 'afterModelCall'] as const
  const isHeard = points.some((on) => listenersAt(plugins, on).length > 0)
  const ask = createAsk(plugins, deps, '_summary')
  const added = createAdded(plugins)
  return (state) => (isHeard ? hookedGenerate(state, ask, added(state)) : state.generate)
}

/** A resumed run uses the texts it began with, of plugins that are still enabled. */
function createAdded(plugins: readonly LoadedPlugin[]) {
  const listening = new Set(
    listenersAt(plugins, 'beforeModelCall').map(({ manifest }) => manifest.id),
  )
  return ({ added: texts }: PlannerState) =>
    (now: readonly AddedText[]) => {
      texts?.note(now)
      return texts?.kept?.filter(({ plugin }) => listening.has(plugin)) ?? now
    }
}

type AskOne = ReturnType<typeof createAsk>

/** @param of Suffix that tells this call from the turn's own. */
function createAsk(plugins: readonly LoadedPlugin[], deps: HooksDeps, of = '') {
  return (
    on: HookPoint,
    { caller, agent: { id: agent }, turn, signal, emit }: PlannerState,
    more: Pick<HookEvent, 'model' | 'text'> = {},
  ): Promise<Answered | undefined> => {
    const { session, run, principal } = caller
    const about = { ...caller, agent, call: `turn_${turn}${of}`, signal, emit }
    const event = { session, run, agent, principal, ...more }
    return askOne(on, { event, context: toHookContext(about) }, { plugins, deps })
  }
}

/** @param added Chooses the texts for this model call from the hooks' present answers. */
function hookedGenerate(
  state: PlannerState,
  ask: AskOne,
  added: (now: readonly AddedText[]) => readonly AddedText[],
): PlannerState['generate'] {
  return async (request) => {
    const model = request.model === undefined ? {} : { model: request.model }
    const before = await ask('beforeModelCall', state, model)
    refuse(state, before, 'this model call')
    const texts = added(textsOf(before))
    for (const { label } of texts) state.read?.(label)
    const reply: ModelReply = await state.generate(withAdded(request, texts))
    const label = joinLabels([state.caller.label, ...texts.map((one) => one.label)])
    const said = { ...state, caller: { ...state.caller, label } }
    // In any case the reply exists and is paid for.
    await ask('afterModelCall', said, { model: reply.model, text: reply.text })
    return reply
  }
}

function refuse({ read }: PlannerState, answered: Answered | undefined, what: string): void {
  const stopped = answered?.stopped
  if (!stopped) return
  // The caller of the run reads the reason, so its label counts.
  if (stopped.message !== undefined) read?.(stopped.label)
  throw new IsolaError(
    'model_denied',
    stopped.message === undefined ? `A check before ${what} failed.` : vetoText(stopped),
  )
}

const textsOf = (answered: Answered | undefined): readonly AddedText[] =>
  (answered?.changes ?? []).flatMap(({ plugin, change, label }) =>
    change.text?.trim() ? [{ plugin, text: change.text.trim(), label }] : [],
  )

/** After the agent's own instructions and with the plugin's name, because it ranks below them. */
function withAdded(request: ModelRequest, texts: readonly AddedText[]): ModelRequest {
  if (texts.length === 0) return request
  const added = texts.map(({ plugin, text }) => `Added by the plugin ${plugin}:\n${text}`)
  const [first, ...rest] = request.messages
  const [own, others] =
    first?.role === 'system' ? [[first.text.trimEnd()], rest] : [[], request.messages]
  const system: Message = { role: 'system', text: [...own, ...added].join('\n\n') }
  return { ...request, messages: [system, ...others] }
}

/** The user's last message. */
function lastSaid(messages: readonly Message[]): string {
  const said = messages.findLast(({ role }) => role === 'user')
  return said?.role === 'user' ? said.text : ''
}
