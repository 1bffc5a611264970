import { IsolaError } from '#contracts/errors.ts'
import type { AddedText } from '#runtime/kernel/types/agent-pin.ts'
import { joinLabels } from '#contracts/label.ts'
import type { HookPoint } from '#runtime/catalog/types/manifest.ts'
import type { Message } from '#contracts/message.ts'
import type { ModelReply, ModelRequest } from '#contracts/model.ts'
import type { Planner, PlannerState } from '#runtime/kernel/types/plan.ts'
import type { HookEvent } from '#contracts/plugin.ts'
import type { LoadedPlugin } from '../loading/in-process-host.ts'
import { askPoint, type Answered, type Asked, type AskPointDeps } from './ask-point.ts'
import { toHookContext } from './hook-context.ts'
import { listenersAt } from './listeners.ts'
import { vetoText } from './veto-text.ts'

/** The points of a run at which no tool is called. */
const modelPoints = [
  'sessionStart',
  'sessionReset',
  'beforeDispatch',
  'beforeModelCall',
  'afterModelCall',
] as const

/** Asks the plugins that listen; nothing if there are none. */
type AskOne = (
  on: HookPoint,
  state: PlannerState,
  more?: Pick<HookEvent, 'model' | 'text'>,
) => Promise<Answered | undefined>

/** Puts hooks around a planner: before the first run of a session, before a person's task, and around each model call. */
export function withModelHooks(
  planner: Planner,
  plugins: readonly LoadedPlugin[],
  deps: AskPointDeps,
): Planner {
  if (modelPoints.every((on) => listenersAt(plugins, on).length === 0)) return planner
  const ask = createAsk(plugins, deps)
  const added = createAdded(plugins)
  return {
    async plan(state) {
      const { caller, turn, messages } = state
      // A run that was cut before its first turn was on record comes by here again.
      if (turn === 1 && caller.opening === 'start') await ask('sessionStart', state)
      if (turn === 1 && caller.opening === 'reset') await ask('sessionReset', state)
      if (turn === 1 && caller.depth === 0)
        refuse(state, await ask('beforeDispatch', state, { text: lastSaid(messages) }), 'this task')
      return planner.plan({ ...state, generate: hookedGenerate(state, ask, added(state)) })
    },
  }
}

/**
 * The way to the model that sums up what does not fit: asked and told like any other call, under a name of its own, so
 * that a hook that does something once a call does it for this one too. A veto leaves the summary to the rule.
 */
export function createSummaryHooks(
  plugins: readonly LoadedPlugin[],
  deps: AskPointDeps,
): (state: PlannerState) => PlannerState['generate'] {
  const points = ['beforeModelCall', 'afterModelCall'] as const
  const isHeard = points.some((on) => listenersAt(plugins, on).length > 0)
  const ask = createAsk(plugins, deps, '_summary')
  const added = createAdded(plugins)
  return (state) => (isHeard ? hookedGenerate(state, ask, added(state)) : state.generate)
}

/** A run that is taken up goes on with the texts that it was begun with, of plugins that are still there. */
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

/** @param of What the call is beside the turn's own. */
function createAsk(plugins: readonly LoadedPlugin[], deps: AskPointDeps, of = ''): AskOne {
  return async (on, state, more = {}) => {
    const listeners = listenersAt(plugins, on)
    if (listeners.length === 0) return undefined
    const { caller, agent, turn, signal, emit } = state
    const { session, run, principal } = caller
    const about = { ...caller, agent: agent.id, call: `turn_${turn}${of}`, signal, emit }
    const asked: Asked = {
      event: { on, session, run, agent: agent.id, principal, ...more },
      name: agent.id,
      context: toHookContext(about),
      changed: (event) => event,
    }
    const [answered] = await askPoint({ on, asked: [asked], listeners }, deps)
    return answered
  }
}

/** @param added What is added to a model call of what hooks said now. */
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
    // Whatever becomes of it, the reply is there and paid for.
    await ask('afterModelCall', said, { model: reply.model, text: reply.text })
    return reply
  }
}

function refuse({ read }: PlannerState, answered: Answered | undefined, what: string): void {
  const stopped = answered?.stopped
  if (!stopped) return
  // Whoever asked for the run reads why.
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

/** After the agent's own instructions, and labelled: it ranks below them. */
function withAdded(request: ModelRequest, texts: readonly AddedText[]): ModelRequest {
  if (texts.length === 0) return request
  const added = texts.map(({ plugin, text }) => `Added by the plugin ${plugin}:\n${text}`)
  const [first, ...rest] = request.messages
  const [own, others] =
    first?.role === 'system' ? [[first.text.trimEnd()], rest] : [[], request.messages]
  const system: Message = { role: 'system', text: [...own, ...added].join('\n\n') }
  return { ...request, messages: [system, ...others] }
}

/** What the person said. */
function lastSaid(messages: readonly Message[]): string {
  const said = messages.findLast(({ role }) => role === 'user')
  return said?.role === 'user' ? said.text : ''
}
