import { defined } from '#contracts/defined.ts'
import { IsolaError } from '#contracts/errors.ts'
import { policyOf, type PluginSnapshot } from '#runtime/catalog/types/generation.ts'
import { isOpen } from '#contracts/destination.ts'
import type { Send } from '#contracts/outbound.ts'
import { unwrap } from '#contracts/reply.ts'
import type { ScheduleGateway } from '#runtime/session/types/schedule-object.ts'
import type { Schedule, Slot } from '#runtime/session/types/schedule.ts'
import type { SubmitAs } from '#runtime/session/types/session-entry.ts'
import type { StepDeps } from './step.ts'
import { toNotice } from './told.ts'

export interface DeliverDeps {
  readonly gateway: ScheduleGateway
  readonly submitAs: SubmitAs
  readonly send: Send
  readonly snapshot: () => Promise<PluginSnapshot>
}

const webhookMs = 15_000
const maxAnswerBytes = 65_536

interface Delivered {
  readonly schedule: Schedule
  readonly slot: Slot
  readonly key: string
}

/** Delivers a slot's outcome to its receiver. */
export function createDeliver(deps: DeliverDeps): StepDeps['deliver'] {
  return async (to, what) => {
    switch (to.to) {
      case 'none':
        return
      case 'principal': {
        const { schedule, slot, key } = what
        const notice = toNotice(schedule, slot, key)
        return void (await deps.gateway.ask(`principal:${schedule.asker.principal}`, 'notify', {
          notice,
        }))
      }
      case 'session':
        return toSession(deps, to.session, what)
      case 'webhook':
        return toWebhook(deps, to.url, what)
    }
  }
}

/** As a message in an existing session: a run without a model call, which ends at once. */
async function toSession(
  { submitAs }: DeliverDeps,
  session: string,
  { schedule, slot: { text = '', label, cause }, key }: Delivered,
): Promise<void> {
  const { principal, ...credential } = schedule.asker
  const said = `Notice of the schedule "${schedule.spec.name}":\n\n${text}`
  const ask = {
    session,
    mustExist: true,
    isNote: true,
    // The run ends like any other: a subscription to its end belongs to the same chain.
    ...(cause && { trace: cause.trace, chain: cause.chain }),
    messages: [{ role: 'user', text: said, taint: ['context'], ...defined({ label }) } as const],
  }
  const asking = { id: principal, ...credential }
  unwrap(await submitAs(asking, ask, { key, origin: 'schedule' }).submit())
}

/** To a host that the operator opened, as for everything that an agent sends. */
async function toWebhook(
  { send, snapshot }: DeliverDeps,
  url: string,
  { schedule, slot, key }: Delivered,
): Promise<void> {
  const { network } = policyOf(await snapshot())
  if (!isOpen({ method: 'POST', url }, network, [])) {
    const { host } = new URL(url)
    const message = `The operator has not opened ${host}: isola http allow ${host}`
    throw new IsolaError('request_forbidden', message)
  }
  const { id, atMs, ...told } = toNotice(schedule, slot, key)
  const answer = await send(
    {
      url,
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ ...told, at: new Date(atMs).toISOString() }),
    },
    { maxBytes: maxAnswerBytes, timeoutMs: webhookMs, idempotencyKey: id },
  )
  answer.cancel()
  if (answer.status < 200 || answer.status > 299)
    throw new IsolaError('request_unavailable', `${answer.host} answered ${answer.status}.`)
}
