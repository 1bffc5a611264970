import { askName } from '#runtime/kernel/types/asks.ts'
import { policyOf } from '#runtime/catalog/types/generation.ts'
import type { JsonObject } from '#contracts/json.ts'
import { joinLabels, ownLabel, type Label } from '#contracts/label.ts'
import { labelOf } from '#contracts/message-label.ts'
import type { ModelProvider, ModelRequest } from '#contracts/model.ts'
import type { Planner, PlannerState } from '#runtime/kernel/types/plan.ts'
import { decideTool } from '../decide-tool.ts'
import type { LivePolicyDeps } from '../live-policy.ts'
import { createDefuser, defuse, type IsOpenHost } from './defuse.ts'

/** As rules of labels name an answer: what it points at is sent there by whoever shows it. */
export const answerName = 'isola__answer'

/** Keeps what was read from leaving by the way an answer is shown. */
export interface AnswerGuard {
  /** Outside of all hooks, so that what they add is known. */
  readonly around: (planner: Planner) => Planner
  /** Where text comes in, so that what is streamed is what is kept. */
  readonly behind: (models: ModelProvider) => ModelProvider
}

/**
 * Where the context of an answer has a stranger's text in it and the policy would not send its data out unasked
 * (`egress` of `isola__answer`), what the answer points at is made inert, but for hosts that the policy names. Without a
 * stranger's text nothing is looked at. A policy that cannot be read allows nothing.
 *
 * @see docs/decisions/0073-what-an-answer-points-at.md
 */
export function createAnswerGuard({ snapshot }: Pick<LivePolicyDeps, 'snapshot'>): AnswerGuard {
  /** @returns The hosts that it may point at; nothing if all. */
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
      // To whoever asked, which is nowhere else; but nothing private is at home there.
      goesTo: { home: answerName },
    } as const
    return decideTool(policy, asked).verdict === 'allow' ? undefined : policy.network.hosts
  }
  return {
    around: (planner) => ({
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
    behind: (models) => ({
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

/** A question is shown like an answer. */
const inertInput = (input: JsonObject, isOpen: IsOpenHost): JsonObject =>
  Object.fromEntries(
    Object.entries(input).map(([key, value]) => [
      key,
      typeof value === 'string' ? defuse(value, isOpen) : value,
    ]),
  )

/** A star for every host names none. */
const isNamedIn =
  (hosts: readonly string[]): IsOpenHost =>
  (host) =>
    hosts.some((one) => one === host || (one.startsWith('*.') && host.endsWith(one.slice(1))))
