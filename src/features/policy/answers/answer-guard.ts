import { askName } from '#runtime/kernel/types/asks.ts'
import { policyOf } from '#runtime/catalog/types/generation.ts'
import type { JsonObject } from '#contracts/json.ts'
import { joinLabels, ownLabel, type Label } from '#contracts/label.ts'
import { labelOf } from '#contracts/message.ts'
import type { ModelProvider, ModelRequest } from '#contracts/model.ts'
import type { Planner, PlannerState } from '#runtime/kernel/types/plan.ts'
import { decideTool } from '../decide-tool.ts'
import type { LivePolicyDeps } from '../live-policy.ts'
import { createDefuser, defuse, type IsOpenHost } from './defuse.ts'

/** The name of an answer in label rules: showing an answer sends data to the addresses in it. */
const answerName = 'isola__answer'

/**
 * Keeps data from leaving through the addresses in a shown answer. If the context of an answer contains a stranger's
 * text, and the policy would not let its data leave without asking (`egress` of `isola__answer`), the addresses in
 * the answer are made inert, except for hosts that the policy names. Without a stranger's text nothing is examined.
 * While the policy cannot be read, no host is allowed.
 *
 * @see docs/decisions/0073-what-an-answer-points-at.md
 */
export function createAnswerGuard({ snapshot }: Pick<LivePolicyDeps, 'snapshot'>) {
  /** @returns The hosts that the answer may point at; `undefined` if all. */
  async function hostsFor(
    label: Label,
    { caller, agent }: PlannerState,
  ): Promise<readonly string[] | undefined> {
    const policy = await snapshot().then(policyOf, () => undefined)
    if (!policy) return []
    const { principal } = caller
    const asked = {
      tool: answerName,
      agent: agent.id,
      principal,
      label,
      sinks: ['egress'],
      // The answer goes to the caller alone; but private data does not originate there.
      goesTo: { home: answerName },
    } as const
    return decideTool(policy, asked).verdict === 'allow' ? undefined : policy.network.hosts
  }
  return {
    /** Wraps the planner outside of all hooks, so that labels added by hooks count. */
    around: (planner: Planner): Planner => ({
      plan(state) {
        let added = ownLabel
        const read = (label: Label | undefined) => {
          added = joinLabels([added, label])
          state.read?.(label)
        }
        const generate = async (request: ModelRequest) => {
          const known = [added, ...state.messages.map(labelOf)]
          const isSteered = known.some(({ integrity }) => integrity === 'stranger')
          const hosts = isSteered ? await hostsFor(joinLabels(known), state) : undefined
          return state.generate(hosts ? { ...request, answersPointAt: hosts } : request)
        }
        return planner.plan({ ...state, read, generate })
      },
    }),
    /** Wraps the model provider, so that the streamed text is the text that is kept. */
    behind: (models: ModelProvider): ModelProvider => ({
      ...models,
      async generate(request, call) {
        const { answersPointAt: hosts } = request
        if (!hosts) return models.generate(request, call)
        const isOpen = isNamedIn(hosts)
        const { push } = createDefuser(isOpen)
        let told = ''
        const tell = (text: string) => {
          told += text
          if (text !== '') call.onDelta(text)
        }
        let isStreamed = false
        const onDelta = (text: string) => {
          isStreamed = true
          tell(push(text))
        }
        const reply = await models.generate(request, { ...call, onDelta })
        const text = defuse(reply.text, isOpen)
        if (isStreamed && text.startsWith(told)) tell(text.slice(told.length))
        const toolCalls = reply.toolCalls.map((call) =>
          call.name === askName ? { ...call, input: inertInput(call.input, isOpen) } : call,
        )
        return { ...reply, text, toolCalls }
      },
    }),
  }
}

/** A question is shown to the user like an answer. */
const inertInput = (input: JsonObject, isOpen: IsOpenHost): JsonObject =>
  Object.fromEntries(
    Object.entries(input).map(([key, value]) => [
      key,
      typeof value === 'string' ? defuse(value, isOpen) : value,
    ]),
  )

/** `*`, which opens every host, names none. */
const isNamedIn =
  (hosts: readonly string[]): IsOpenHost =>
  (host) =>
    hosts.some((one) => one === host || (one.startsWith('*.') && host.endsWith(one.slice(1))))
