import type { AskedWhen, ScheduleChangeBody } from '../types/schedule-requests.ts'
import type {
  ScheduleRequestBody,
  ScheduledWork,
  ScheduleSpec,
  When,
  ScheduleView,
} from '#runtime/session/types/schedule.ts'
import { IsolaError, errorCode } from '#contracts/errors.ts'
import type { Principal } from '#contracts/operations.ts'
import type { PluginAdministration } from '#runtime/catalog/types/plugin-catalog.ts'
import type { AgentDirectory } from '#runtime/session/types/runtime.ts'
import {
  cronOfManifest,
  toScheduleSpec,
  toWhen,
  workOfPlugin,
  sameWhen,
} from '../types/schedule-spec.ts'
import { jsonResponse } from '#platform/routes/answer.ts'
import type { RequestContext } from '#platform/routes/request.ts'
import { warningsOf, toLimits } from '#platform/routes/limits.ts'
import { checkModel, lookForAgent, orchestrator, type Targets } from '#platform/routes/targets.ts'
import { toListing } from './replies.ts'
import { askerOf, changer } from '#runtime/session/requests/own.ts'
import type { ScheduleKeeper } from '#contracts/schedule-requests.ts'
import type { Sources } from '#contracts/sources.ts'
import { refuseOfText } from '../own-schedules.ts'
import { keeperOf } from '#runtime/session/types/schedule.ts'
import type {
  ScheduleGateway,
  ScheduleIndex,
  ScheduleVerb,
  ScheduleVerbs,
  OfOne,
} from '#runtime/session/types/schedule-object.ts'
import { readIdempotencyKey } from '#platform/routes/headers.ts'
import { seesEverybody } from '#platform/routes/queries.ts'

/** The ports of the routes of schedules and of subscriptions. */
export interface ScheduleDeps {
  readonly schedules: ScheduleGateway & Pick<ScheduleIndex, 'find' | 'list'>
  readonly sources: Sources
}

export type Kind = 'schedule' | 'subscription'

/** The object that owns the caller's schedules. */
export const ownerOf = ({ id }: Principal): ScheduleKeeper => `principal:${id}`

/** An id from the idempotency key, so that a repeated request finds the schedule that it made. */
export function newId(sources: Sources, { raw, caller }: RequestContext, kind: Kind): string {
  const key = readIdempotencyKey(raw.headers)
  const prefix = kind.slice(0, 3) as 'sch' | 'sub' // the beginnings of these two
  if (key === undefined) return sources.ids.next(prefix)
  return `${prefix}_${sources.sha256(JSON.stringify([kind, caller.id, key])).slice(0, 22)}`
}

/** A schedule that the caller may look at, and the object that keeps it. */
interface FoundSchedule extends OfOne {
  readonly keeper: ScheduleKeeper
}

/**
 * Acts on a schedule of the caller or, for an operator or an auditor, of any principal: first in the caller's own
 * object, which has the newest schedules, then in the object that the list names. A malformed id looks absent.
 */
async function onSchedule<T>(
  { schedules }: ScheduleDeps,
  { params, caller }: RequestContext,
  kind: Kind,
  act: (found: FoundSchedule) => Promise<T>,
): Promise<T> {
  const { id = '' } = params
  const { id: principal, role } = caller
  const keeper = ownerOf(caller)
  const none = new IsolaError('request_not_found', `There is no such ${kind}.`)
  if (!/^[0-9A-Za-z]{22}$/.test(id.slice(4)) || !id.startsWith(`${kind.slice(0, 3)}_`)) throw none
  try {
    return await act({ keeper, id, principal })
  } catch (error) {
    if (errorCode(error) !== 'request_not_found') throw error
    const listed = await schedules.find(id)
    const isOwn = listed?.asker.principal === principal
    if (!listed || keeperOf(listed) === keeper || !(isOwn || seesEverybody(role))) throw none
    return act({ keeper: keeperOf(listed), id, ...(isOwn && { principal }) })
  }
}

/** One verb of the object that keeps a schedule. */
export const askOf = <Verb extends ScheduleVerb>(
  deps: ScheduleDeps,
  request: RequestContext,
  { kind, verb, more }: { kind: Kind; verb: Verb; more?: object },
): Promise<ScheduleVerbs[Verb]['answer']> =>
  onSchedule(deps, request, kind, ({ keeper, ...of }) =>
    // The fields of a verb beside the schedule that it is about.
    deps.schedules.ask(keeper, verb, { ...of, ...more } as ScheduleVerbs[Verb]['ask']),
  )

/** Removes a schedule that a caller made; schedules of manifests and agents are removed with their text. */
export const removeSchedule = (deps: ScheduleDeps, request: RequestContext, kind: Kind) =>
  onSchedule(deps, request, kind, async ({ keeper, ...asked }) => {
    refuseOfText(await deps.schedules.ask(keeper, 'show', asked))
    return deps.schedules.ask(keeper, 'remove', { ...asked, by: changer(request.by()) })
  })

/** The catalogs that a schedule's fields name: agents and models, tools, plugins. */
export interface MakeDeps extends ScheduleDeps, Targets {
  readonly agents: Targets['agents'] & Pick<AgentDirectory, 'toolNames'>
  readonly plugins: Pick<PluginAdministration, 'show'>
}

/** Keeps a new schedule or subscription, and answers how it looks. */
export async function keep<Listing extends object>(
  deps: ScheduleDeps,
  request: RequestContext,
  made: {
    readonly kind: Kind
    readonly id: string
    readonly spec: ScheduleSpec
    readonly isDryRun: boolean | undefined
    readonly toReply: (view: ScheduleView) => Listing | Promise<Listing>
  },
): Promise<Response> {
  const { kind, id, spec, isDryRun = false, toReply } = made
  const owner = ownerOf(request.caller)
  const view = await deps.schedules.ask(owner, 'add', {
    schedule: { id, owner, asker: askerOf(request.caller), spec },
    by: changer(request.by()),
    ...(isDryRun && { isDryRun }),
  })
  const listing = await toReply(view)
  if (isDryRun) return jsonResponse(listing)
  return jsonResponse(listing, { status: 201, headers: { location: `/api/${kind}s/${id}` } })
}

/** `POST /api/schedules`. */
export async function makeSchedule(
  deps: MakeDeps,
  request: RequestContext & { readonly body: ScheduleRequestBody },
): Promise<Response> {
  const { body: asked, caller } = request
  const id = newId(deps.sources, request, 'schedule')
  const spec = await toSpec(deps, caller, asked)
  const { maxTokens, maxCostUsd } = asked.limits ?? {}
  return keep(deps, request, {
    kind: 'schedule',
    id,
    spec,
    isDryRun: asked.dryRun,
    toReply: (made) => ({
      ...toListing(made, deps.sources.clock.nowMs()),
      ...warningsOf(deps, {
        tokens: { field: 'limits.maxTokens', limit: maxTokens },
        costUsd: { field: 'limits.maxCostUsd', limit: maxCostUsd },
      }),
    }),
  })
}

async function toSpec(
  deps: MakeDeps,
  caller: Principal,
  asked: ScheduleRequestBody,
): Promise<ScheduleSpec> {
  const { plugin } = asked
  const offered = plugin === undefined ? undefined : await ofPlugin(deps, asked, plugin)
  const work = offered?.work ?? (await toWork(deps, caller, asked))
  if (asked.check) await checkTool(deps, asked.check.tool, 'check.tool')
  const { when = offered?.when } = asked
  if (!when)
    throw invalid('when', 'is required: { "cron": "0 9 * * 1-5" } or { "everyMinutes": 30 }')
  const made = {
    when: await whenOf(deps, caller, when),
    work,
    limits: toLimits(asked.limits),
  }
  return checked(toScheduleSpec(asked, made))
}

/** In the caller's time zone, where `when` needs one and names none. */
async function whenOf(deps: ScheduleDeps, caller: Principal, asked: AskedWhen): Promise<When> {
  const needsZone = ('cron' in asked || 'hours' in asked) && asked.timeZone === undefined
  const zone = needsZone
    ? await deps.schedules.ask(ownerOf(caller), 'settings', {})
    : { timeZone: 'UTC' }
  return toWhen(asked, { ...zone, nowMs: deps.sources.clock.nowMs() })
}

/** A heartbeat is idle most of the time, and must cost nothing then. */
function checked(spec: ScheduleSpec): ScheduleSpec {
  if (!spec.heartbeat) return spec
  if (!('task' in spec.work)) throw invalid('heartbeat', 'is of a task: a tool needs no session')
  if (!spec.check)
    throw invalid(
      'check',
      'is required of a heartbeat: a tool that is asked first, without a model',
    )
  return spec
}

/** The schedule of a plugin's manifest, for the caller's own use. */
async function ofPlugin(
  deps: MakeDeps,
  asked: ScheduleRequestBody,
  plugin: string,
): Promise<{ readonly when: AskedWhen; readonly work: ScheduledWork }> {
  const other = (['task', 'tool', 'input', 'model', 'agent'] as const).find(
    (name) => asked[name] !== undefined,
  )
  if (other !== undefined) throw invalid(other, 'is not asked beside a plugin, whose code works')
  const cron = cronOfManifest((await deps.plugins.show(plugin))?.manifest)
  const work = workOfPlugin(plugin)
  const names = await deps.agents.toolNames([work.tool])
  if (cron === undefined || !names.includes(work.tool))
    throw invalid('plugin', `there is no plugin "${plugin}" here that schedules anything`)
  return { when: { cron }, work }
}

type AskedWork = Pick<ScheduleRequestBody, 'task' | 'tool' | 'input' | 'model' | 'agent'>

/** The work of a firing. Throws for an agent, a model or a tool that this caller cannot reach. */
export async function toWork(
  deps: MakeDeps,
  caller: Principal,
  { task, tool, input, model, agent = orchestrator }: AskedWork,
): Promise<ScheduledWork> {
  if (!(await lookForAgent(deps, caller, agent))) {
    const message = 'agent: there is no such agent. GET /v1/models lists them.'
    throw new IsolaError('request_not_found', message, { param: 'agent' })
  }
  if ((task === undefined) === (tool === undefined))
    throw invalid('task', 'is required, or a tool instead of it: one of the two')
  if (tool !== undefined) {
    if (model !== undefined) throw invalid('model', 'is of a task: a tool is called without one')
    await checkTool(deps, tool, 'tool')
    return { agent, tool, input: input ?? {} }
  }
  if (input !== undefined) throw invalid('input', 'is of a tool: a task has none')
  return {
    agent,
    task: task ?? '',
    ...(model !== undefined && { model: checkModel(deps, caller, model) }),
  }
}

/** A schedule whose tool does not exist would fail each time. */
async function checkTool(deps: MakeDeps, tool: string, param: string): Promise<void> {
  const names = await deps.agents.toolNames([tool])
  if (!names.includes(tool))
    throw invalid(param, `there is no tool "${tool}" here. isola agent show lists them`)
}

const invalid = (param: string, problem: string): IsolaError =>
  new IsolaError('request_invalid', `${param}: ${problem}.`, { param })

/**
 * `POST /api/schedules/:id`. Only by the principal in whose name it works, and by the credential that changes it from
 * then on: no principal has work done in another's name, and no key by a wider key of the same principal.
 */
export async function editSchedule(
  deps: MakeDeps,
  request: RequestContext & { readonly body: ScheduleChangeBody },
) {
  const { dryRun, ...asked } = request.body
  if (Object.keys(asked).length === 0)
    throw invalid('name', 'or what else is to be changed is missing')
  const asker = askerOf(request.caller)
  const { keeper, found, view } = await onSchedule(
    deps,
    request,
    'schedule',
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
  asked: AskedWhen,
  was: When,
): Promise<When> {
  const zone = 'cron' in was && !('at' in asked) && ('cron' in asked || asked.hours !== undefined)
  const when = await whenOf(deps, caller, zone ? { timeZone: was.timeZone, ...asked } : asked)
  return sameWhen(when, was)
}
