import type { ScheduleChangeBody } from '../types/schedule-requests.ts'
import type { Principal } from '#contracts/operations.ts'
import { refuseOfText } from '../types/schedule-keeper.ts'
import { sameWhen, toScheduleSpec } from '../types/schedule-spec.ts'
import type { ScheduledWork, ScheduleSpec, When } from '#runtime/session/types/schedule.ts'
import type { RequestContext } from '#platform/routes/request.ts'
import { toLimits } from '#platform/routes/limits.ts'
import { toListing } from './listing.ts'
import {
  checked,
  checkTool,
  invalid,
  toWork,
  whenOf,
  type AskedWork,
  type MakeDeps,
} from './make.ts'
import { askerOf, changer, onSchedule } from '#runtime/session/requests/own.ts'
import type { ScheduleListing } from './replies.ts'

/**
 * `POST /api/schedules/:id`. Only by the principal in whose name it works, and by the credential that changes it from then
 * on: no principal has work done in another's name, and no key by a wider key of the same principal.
 */
export async function editSchedule(
  deps: MakeDeps,
  request: RequestContext & { readonly body: ScheduleChangeBody },
): Promise<ScheduleListing> {
  const { dryRun, ...asked } = request.body
  if (Object.keys(asked).length === 0)
    throw invalid('name', 'or what else is to be changed is missing')
  const asker = askerOf(request.caller)
  const { keeper, found, view } = await onSchedule(
    deps,
    request,
    async ({ keeper: at, ...one }) => ({
      keeper: at,
      found: one,
      view: await deps.schedules.ask(at, 'show', one),
    }),
  )
  const { spec: was } = view
  refuseOfText(view)
  if (view.asker.principal !== asker.principal)
    throw invalid('id', "is another principal's: pause or remove it, what it does is theirs to say")
  const spec = await changedSpec(deps, request.caller, asked, was)
  const by = changer(request.by())
  const change = { spec, was, asker, by, ...(dryRun === true && { isDryRun: true }) }
  const edited = await deps.schedules.ask(keeper, 'edit', { ...found, ...change })
  return toListing(edited, deps.sources.clock.nowMs())
}

async function changedSpec(
  deps: MakeDeps,
  caller: Principal,
  asked: ScheduleChangeBody,
  was: ScheduleSpec,
): Promise<ScheduleSpec> {
  if (asked.check) await checkTool(deps, asked.check.tool, 'check.tool')
  const work = await toWork(deps, caller, workIn(asked, was.work))
  const when = asked.when ? await changedWhen(deps, caller, asked.when, was.when) : was.when
  const limits = asked.limits === undefined ? was.limits : toLimits(asked.limits ?? undefined)
  return checked(toScheduleSpec(asked, { when, work, limits }, was))
}

/** A task takes the place of a tool with its input, and the other way round. */
function workIn(
  { task, tool, input, model, agent }: ScheduleChangeBody,
  was: ScheduledWork,
): AskedWork {
  const { agent: before, ...rest } = was
  const kept = tool !== undefined ? {} : task !== undefined && 'tool' in rest ? {} : rest
  const named = { task, tool, input, model, agent }
  const given = Object.entries(named).filter(([, value]) => value !== undefined)
  return { agent: before, ...kept, ...Object.fromEntries(given) }
}

/** The zone that it has stays, and an interval as long as before goes on from where it is. */
async function changedWhen(
  deps: MakeDeps,
  caller: Principal,
  asked: NonNullable<ScheduleChangeBody['when']>,
  was: When,
): Promise<When> {
  const zone = 'cron' in was && !('at' in asked) && ('cron' in asked || asked.hours !== undefined)
  const when = await whenOf(deps, caller, zone ? { timeZone: was.timeZone, ...asked } : asked)
  return sameWhen(when, was)
}
