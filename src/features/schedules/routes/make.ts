import type { AskedWhen } from '../types/schedule-requests.ts'
import type {
  ScheduleRequestBody,
  ScheduledWork,
  ScheduleSpec,
  When,
} from '#runtime/session/types/schedule.ts'
import { IsolaError } from '#contracts/errors.ts'
import type { Principal } from '#contracts/operations.ts'
import type { PluginAdministration } from '#runtime/catalog/types/plugin-catalog.ts'
import type { AgentDirectory } from '#runtime/session/types/runtime.ts'
import { cronOfManifest, toScheduleSpec, toWhen, workOfPlugin } from '../types/schedule-spec.ts'
import { jsonResponse } from '#platform/routes/answer.ts'
import type { RequestContext } from '#platform/routes/request.ts'
import { warningsOf, toLimits } from '#platform/routes/limits.ts'
import { checkModel, lookForAgent, orchestrator, type Targets } from '#platform/routes/targets.ts'
import { toListing } from './listing.ts'
import {
  askerOf,
  changer,
  newId,
  ownerOf,
  type ScheduleDeps,
} from '#runtime/session/requests/own.ts'

/** The catalogs that a schedule's fields name: agents and models, tools, plugins. */
export interface MakeDeps extends ScheduleDeps, Targets {
  readonly agents: Targets['agents'] & Pick<AgentDirectory, 'toolNames'>
  readonly plugins: Pick<PluginAdministration, 'show'>
}

/** `POST /api/schedules`. */
export async function makeSchedule(
  deps: MakeDeps,
  request: RequestContext & { readonly body: ScheduleRequestBody },
): Promise<Response> {
  const { body: asked, caller } = request
  const { clock } = deps.sources
  const id = newId(deps.sources, request, 'schedule')
  const owner = ownerOf(caller)
  const spec = await toSpec(deps, caller, asked)
  const made = await deps.schedules.ask(owner, 'add', {
    schedule: { id, owner, asker: askerOf(caller), spec },
    by: changer(request.by()),
    ...(asked.dryRun === true && { isDryRun: true }),
  })
  const { maxTokens, maxCostUsd } = asked.limits ?? {}
  const warned = warningsOf(deps, {
    tokens: { field: 'limits.maxTokens', limit: maxTokens },
    costUsd: { field: 'limits.maxCostUsd', limit: maxCostUsd },
  })
  const listing = { ...toListing(made, clock.nowMs()), ...warned }
  if (asked.dryRun === true) return jsonResponse(listing)
  return jsonResponse(listing, { status: 201, headers: { location: `/api/schedules/${id}` } })
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
export async function whenOf(
  deps: ScheduleDeps,
  caller: Principal,
  asked: AskedWhen,
): Promise<When> {
  const needsZone = ('cron' in asked || 'hours' in asked) && asked.timeZone === undefined
  const zone = needsZone
    ? await deps.schedules.ask(ownerOf(caller), 'settings', {})
    : { timeZone: 'UTC' }
  return toWhen(asked, { ...zone, nowMs: deps.sources.clock.nowMs() })
}

/** A heartbeat is idle most of the time, and must cost nothing then. */
export function checked(spec: ScheduleSpec): ScheduleSpec {
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

export type AskedWork = Pick<ScheduleRequestBody, 'task' | 'tool' | 'input' | 'model' | 'agent'>

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
export async function checkTool(
  deps: Pick<MakeDeps, 'agents'>,
  tool: string,
  param: string,
): Promise<void> {
  const names = await deps.agents.toolNames([tool])
  if (!names.includes(tool))
    throw invalid(param, `there is no tool "${tool}" here. isola agent show lists them`)
}

export const invalid = (param: string, problem: string): IsolaError =>
  new IsolaError('request_invalid', `${param}: ${problem}.`, { param })
