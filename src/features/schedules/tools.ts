import { defined } from '#contracts/defined.ts'
import { errorCode, errorMessage } from '#contracts/errors.ts'
import type { JsonObject } from '#contracts/json.ts'
import { labelFrom, ownLabel } from '#contracts/label.ts'
import { refuseOfText } from './own-schedules.ts'
import type { ScheduleGateway } from '#runtime/session/types/schedule-object.ts'
import { toScheduleSpec, toWhen } from './types/schedule-spec.ts'
import type { ScheduleView } from '#runtime/session/types/schedule.ts'
import type { Sources } from '#contracts/sources.ts'
import type { Tool, ToolContext, ToolEntry, ToolFailure, ToolResult } from '#contracts/tool.ts'
import { idFrom } from './own-schedules.ts'

export interface ScheduleToolDeps extends Pick<Sources, 'sha256' | 'clock'> {
  readonly gateway: ScheduleGateway
}

/** The prefix of their names; a plugin or server with an id of its own may not have it. */
export const toolOwner = 'schedule'
const maxListed = 50
const text = (description: string) => ({
  type: 'string',
  minLength: 1,
  maxLength: 20_000,
  description,
})

const createSchema = {
  type: 'object',
  properties: {
    name: text('What it is called, in a few words.'),
    task: text(
      'What is to be done each time, for an agent that knows nothing of this conversation.',
    ),
    cron: text('When: five fields, such as "0 9 * * 1-5" for every weekday at 9.'),
    time_zone: text('IANA zone of cron, such as Europe/Berlin; that of the person if absent.'),
    every_minutes: { type: 'integer', minimum: 1, description: 'Instead of cron: an interval.' },
    at: {
      type: 'array',
      items: { type: 'string' },
      minItems: 1,
      maxItems: 100,
      description: 'Instead of cron: moments with their offset, such as 2026-12-24T18:00:00+01:00.',
    },
    check: text('A tool without arguments that is asked first and answers shouldRun.'),
  },
  required: ['name', 'task'],
  additionalProperties: false,
}
const idSchema = {
  type: 'object',
  properties: { id: { type: 'string', description: 'Its id, as schedule__list answers it.' } },
  required: ['id'],
  additionalProperties: false,
}

/**
 * The tools by which an agent proposes schedules: the person sees the schedule before it is made, and allows it or
 * not. They are found like any other tool, and are in no prompt.
 */
export function createScheduleTools(deps: ScheduleToolDeps): readonly ToolEntry[] {
  const { gateway } = deps
  const create: Tool = {
    name: `${toolOwner}__create`,
    description:
      'Propose a schedule: a task that is done by the clock from then on (remind me, every weekday at 9, ' +
      'every hour). The person sees it and decides. What it finds is in their notices.',
    inputSchema: createSchema,
    execute: (input, context) => answering(() => proposed(input, context, deps)),
  }
  const list: Tool = {
    name: `${toolOwner}__list`,
    description: 'List the schedules of the person, with when each is due next.',
    inputSchema: { type: 'object', properties: {}, additionalProperties: false },
    execute: (_input, { principal }) =>
      answering(async () => {
        const asked = { limit: maxListed }
        const all = await gateway.ask(`principal:${principal}`, 'list', asked)
        return { schedules: all.map(toShown) }
      }),
  }
  const remove: Tool = {
    name: `${toolOwner}__remove`,
    description: 'Propose to take a schedule away. The person sees it and decides.',
    inputSchema: idSchema,
    execute: ({ id }, { principal, trace }) =>
      answering(async () => {
        const asked = { id: String(id), principal }
        refuseOfText(await gateway.ask(`principal:${principal}`, 'show', asked))
        const by = { principal, trace }
        await gateway.ask(`principal:${principal}`, 'remove', { ...asked, by })
        return { removed: String(id) }
      }),
  }
  return [toEntry(create), toEntry(list, true), { ...toEntry(remove), isDestructive: true }]
}

const toEntry = (tool: Tool, isReadOnly = false): ToolEntry => ({
  tool,
  isReadOnly,
  isIdempotent: true,
  ...(!isReadOnly && { needsApproval: true }),
  // The schedule works and spends later, in the name of the approving principal.
  sinks: isReadOnly ? [] : ['write', 'spend'],
  yields: isReadOnly ? labelFrom('schedules', { integrity: 'data' }) : ownLabel,
  timeoutMs: 10_000,
  definitionHash: `core:1:${tool.name}`,
  record: { plugin: 'isola' },
})

async function proposed(
  { time_zone: timeZone, every_minutes: everyMinutes, cron, at, check, ...rest }: JsonObject,
  { principal, trace, agent, options, idempotencyKey }: ToolContext,
  { gateway, sha256, clock }: ScheduleToolDeps,
): Promise<JsonObject> {
  const when =
    cron !== undefined
      ? { cron, ...defined({ timeZone }) }
      : at !== undefined
        ? { at }
        : { everyMinutes }
  const asked = { ...rest, when, ...(check !== undefined && { check: { tool: check } }) }
  // Read with the first proposal: it is much, and few runs make one.
  const { scheduleRequest } = await import('#contracts/schedule-requests.ts')
  const parsed = scheduleRequest.safeParse(asked)
  if (!parsed.success) {
    const { path, message } = parsed.error.issues[0] ?? { path: [], message: 'it is not valid' }
    throw refused(`${path.join('.')}: ${message}`)
  }
  const { task = '', when: wanted } = parsed.data
  if (!wanted) throw refused('when: name cron, every_minutes or at')
  const owner = `principal:${principal}` as const
  const zone = await gateway.ask(owner, 'settings', {})
  const spec = toScheduleSpec(parsed.data, {
    when: toWhen(wanted, { ...zone, nowMs: clock.nowMs() }),
    work: { agent, task },
    limits: undefined,
  })
  const { key, grant } = options
  const asker = {
    principal,
    ...defined({ key, grant }),
  }
  // A repeated call meets the schedule that it made.
  const id = idFrom('sch', ['proposed', principal, idempotencyKey], sha256)
  const schedule = { id, owner, asker, spec }
  return toShown(await gateway.ask(owner, 'add', { schedule, by: { principal, trace } }))
}

const toShown = ({ id, spec: { name }, next, paused }: ScheduleView): JsonObject => ({
  id,
  name,
  ...(paused && { paused: paused.reason }),
  next: next.map((slot) => new Date(slot).toISOString()),
})

const refused = (message: string) => Object.assign(new Error(message), { code: 'request_invalid' })

async function answering(work: () => Promise<JsonObject>): Promise<ToolResult> {
  try {
    return { ok: true, output: await work() }
  } catch (error) {
    if (errorCode(error) === undefined) throw error
    const failure: ToolFailure = { code: 'tool_failed', message: errorMessage(error) }
    return { ok: false, error: failure }
  }
}
