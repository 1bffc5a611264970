import { describe, expect, it } from 'vitest'
import type {
  Schedule,
  ScheduleSpec,
  ScheduleView,
} from '../../../src/runtime/session/types/schedule.ts'
import { createKeeper, type KeeperDeps } from '../../../src/features/schedules/keeper.ts'
import { createEditVerbs } from '../../../src/features/schedules/host.ts'
import { checkAddress } from '../../../src/platform/outbound/send.ts'
import { createScheduleRows, type ScheduleStorage } from '../../../src/features/schedules/rows.ts'
import { jitterOf } from '../../../src/features/schedules/slots.ts'
import { createChangeVerbs } from '../../../src/features/schedules/verbs.ts'
import { sha256 } from '../../fakes/kernel.ts'
import { createPrincipalStorage } from '../../fakes/principal-storage.ts'
import { minuteMs, scheduleOf } from '../../fakes/schedules.ts'

const ten = 10 * minuteMs
const by = { principal: 'ada', trace: '' }
const asker = { principal: 'ada', key: 'key_2' }

/** An object with one schedule, whose clock is moved by hand; nothing that it asks answers. */
function open(
  spec: Partial<ScheduleSpec> = {},
  more: Partial<Schedule> = {},
  isDevelopment = false,
) {
  const storage = createPrincipalStorage() as ScheduleStorage // it binds whatever SQLite does
  const rows = createScheduleRows(storage)
  const clock = { at: 0 }
  const never = async () => new Promise<never>(() => {})
  const deps = {
    clock: { nowMs: () => clock.at, sleep: async () => {} },
    sha256,
    mayBegin: async () => true,
    index: { tell: async () => {} },
    submitAs: () => ({ submit: never }),
    sessions: { idFor: async () => 'ses_1', at: never },
  } as unknown as KeeperDeps
  const keeper = createKeeper(rows, storage, deps)
  const nowMs = () => clock.at
  const checkUrl = (url: string) => checkAddress(url, { isDevelopment })
  const parts = { rows, keeper, storage, nowMs, checkUrl, wake: () => {} }
  const change = createChangeVerbs(parts)
  const verbs = { ...change, ...createEditVerbs(parts, change) }
  const { id } = rows.put(scheduleOf(spec, more))
  const edit = (changes: Partial<ScheduleSpec>, isDryRun = false) => {
    const was = rows.schedule(id)!.spec
    const ask = { id, principal: 'ada', spec: { ...was, ...changes }, was, asker, by }
    return verbs.edit({ ...ask, ...(isDryRun && { isDryRun }) }) as ScheduleView // at once
  }
  const history = () =>
    rows
      .slots(id, { limit: 500 })
      .map(({ slotMs, state }) => `${slotMs / minuteMs} ${state}`)
      .toReversed()
  return { id, rows, clock, keeper, verbs, edit, history }
}

const hourly = { everyMs: 60 * minuteMs, anchorMs: 90 * minuteMs }

describe('a schedule that is changed', () => {
  it('keeps its next slot where its times stay, and works by the key of the principal who changed it', () => {
    const { clock, edit, history } = open({}, { nextMs: ten })
    clock.at = ten - 1
    const changed = edit({ name: 'Other' })
    expect(changed).toMatchObject({ spec: { name: 'Other' }, nextMs: ten, asker })
    expect(history()).toEqual([])
  })

  it('F11: loses none that is due by then, and doubles none: each moment has one row', async () => {
    const { clock, edit, history, keeper } = open({ catchUp: 'all', overlap: 'queue' })
    clock.at = 2 * ten + 5 * minuteMs
    expect(edit({ when: hourly }).next.slice(0, 2)).toEqual([90 * minuteMs, 150 * minuteMs])
    expect(history()).toEqual(['0 queued', '10 queued', '20 queued'])
    clock.at = 90 * minuteMs + 1
    void keeper.look()
    // To and fro at one moment: settled slots stay, and none comes a second time.
    edit({ when: { everyMs: ten, anchorMs: 0 } })
    edit({ when: hourly })
    expect(history()).toEqual(['0 queued', '10 queued', '20 queued', '90 queued'])
  })

  it('F10: has a slot settled once, also where it is settled again out of what it was', () => {
    const { clock, rows, id, keeper, history } = open()
    const before = rows.schedule(id)!
    clock.at = 1
    keeper.settle(before)
    const [slot] = rows.slots(id, { limit: 1 })
    rows.putSlot({ ...slot!, state: 'done' }, undefined)
    keeper.settle(before)
    expect(history()).toEqual(['0 done'])
  })

  it('F11: loses no slot that waits for its jitter', () => {
    const spec = { jitterMs: 5 * minuteMs }
    const { clock, edit, history } = open(spec, { nextMs: ten })
    clock.at = ten + jitterOf(scheduleOf(spec), ten, sha256) - 1
    expect(clock.at).toBeGreaterThan(ten)
    edit({ when: hourly })
    expect(history()).toEqual(['10 queued'])
  })

  it('is refused while due slots have no room, and where it was changed meanwhile', () => {
    const { clock, edit, verbs, rows, id } = open({ catchUp: 'all' })
    clock.at = 500 * ten
    expect(() => edit({ when: { everyMs: ten, anchorMs: 600 * ten } })).toThrow(/wait for earlier/)
    expect(rows.schedule(id)).toMatchObject({ nextMs: 0, asker: { principal: 'ada' } })
    const { spec } = rows.schedule(id)!
    const was = { ...spec, name: 'Before' }
    expect(() => verbs.edit({ id, spec, was, asker, by })).toThrow(/changed meanwhile/)
  })

  it('is refused where it would never be due, and by another principal it is not found', () => {
    const { clock, edit, verbs, rows, id } = open()
    clock.at = ten
    expect(() => edit({ when: { atMs: [1] } })).toThrow(/never due/)
    const { spec } = rows.schedule(id)!
    const ask = { id, principal: 'bob', spec, was: spec, asker, by }
    expect(() => verbs.edit(ask)).toThrow(/no such schedule/)
  })

  it('is shown with its next slots by a dry run, and nothing is changed', () => {
    const { clock, edit, rows, id, history } = open()
    clock.at = ten
    const before = rows.schedule(id)
    expect(edit({ when: hourly }, true).next[0]).toBe(90 * minuteMs)
    expect(rows.schedule(id)).toEqual(before)
    expect(history()).toEqual([])
  })

  it('leaves what is under way as it began, whatever is asked of the next one', async () => {
    const { edit, keeper, rows, id } = open({ check: { tool: 'kv__due', input: {} } })
    void keeper.look()
    await new Promise((resolve) => setTimeout(resolve, 5))
    expect(rows.slot(id, 0)).toMatchObject({ state: 'checking' })
    const { check: _, ...spec } = rows.schedule(id)!.spec
    edit({ ...spec, work: { agent: 'orchestrator', task: 'Stop.' } })
    edit({ name: 'Twice' })
    expect(rows.slot(id, 0)?.spec).toMatchObject({ work: { task: 'Go.' }, check: {} })
    expect(rows.nextLookMs()).toBeDefined()
  })

  it('tells the record what was changed', () => {
    const { edit, rows } = open()
    edit({ name: 'Other', catchUp: 'all' })
    const [untold] = rows.untold(1)
    expect(untold?.events).toMatchObject([
      { type: 'schedule_changed', data: { reason: 'name, catchUp' } },
    ])
  })
})

describe('a schedule that is paused', () => {
  it('F11: has what was due by then fired, what is due meanwhile skipped, and goes on after now', async () => {
    const { clock, verbs, id, history } = open({ catchUp: 'all', overlap: 'queue' })
    clock.at = ten + 1
    await verbs.pause({ id, reason: 'not now', by })
    expect(history()).toEqual(['0 queued', '10 queued'])
    clock.at = 3 * ten + 1
    const view = await verbs.resume({ id, by })
    expect(view).toMatchObject({ nextMs: 4 * ten })
    expect(view).not.toHaveProperty('paused')
    expect(history()).toEqual(['0 queued', '10 queued', '20 skipped', '30 skipped'])
  })
})

describe("an agent's schedules", () => {
  const owner = 'agent:agt_1' as const
  it('M9: are paused with the agent and go on with it; others stay, and what its owner paused', async () => {
    const { verbs, rows, id } = open({}, { owner })
    const { id: paused } = rows.put(scheduleOf({}, { id: 'sch_2', owner }))
    const { id: others } = rows.put(scheduleOf({}, { id: 'sch_3', owner: 'agent:agt_2' }))
    await verbs.pause({ id: paused, reason: 'not now', by })
    expect(await verbs.ofAgent({ agent: 'agt_1', does: 'pause', by })).toEqual({ changed: 1 })
    const reasonOf = (one: string) => rows.schedule(one)?.paused?.reason
    expect([id, paused, others].map(reasonOf)).toEqual([
      'its agent does not run',
      'not now',
      undefined,
    ])
    expect(await verbs.ofAgent({ agent: 'agt_1', does: 'resume', by })).toEqual({ changed: 1 })
    expect([id, paused, others].map(reasonOf)).toEqual([undefined, 'not now', undefined])
  })

  it('M9: are gone with the agent, and no others', async () => {
    const { verbs, rows, id } = open({}, { owner })
    rows.put(scheduleOf({}, { id: 'sch_3', owner: 'principal:ada' }))
    expect(await verbs.ofAgent({ agent: 'agt_1', does: 'remove', by })).toEqual({ changed: 1 })
    expect(rows.schedules().map((one) => one.id)).toEqual(['sch_3'])
    expect(rows.schedule(id)).toBeUndefined()
  })
})

describe('Y10: a webhook', () => {
  const to = (url: string) => ({ deliver: { to: 'webhook', url } as const })
  const adding = ({ verbs, rows, id }: ReturnType<typeof open>, url: string) => {
    const { owner, spec } = rows.schedule(id)!
    const schedule = { id: `${id}_2`, owner, asker, spec: { ...spec, ...to(url) } }
    return () => verbs.add({ schedule, by })
  }
  const refused: Error = expect.objectContaining({
    code: 'request_invalid',
    param: 'deliver.url',
  }) as Error

  it.each([
    'https://127.0.0.1:18951/hook',
    'https://localhost/hook',
    'http://localhost:18951/hook',
    'http://example.com/hook',
    'https://10.0.0.1/hook',
    'https://example.com:8443/hook',
    'https://user:pass@example.com/x',
  ])('is refused where nothing may ever leave for it: %s', (url) => {
    const object = open()
    expect(adding(object, url)).toThrow(refused)
    expect(() => object.edit(to(url), true)).toThrow(refused)
    expect(object.rows.schedules()).toHaveLength(1)
  })

  it('may be of this machine in development, and of no other', () => {
    const object = open({}, {}, true)
    for (const url of ['http://user:pass@localhost:18951/x', 'https://10.0.0.1/hook'])
      expect(adding(object, url)).toThrow(refused)
    expect(object.edit(to('http://127.0.0.1:18951/hook')).spec).toMatchObject(
      to('http://127.0.0.1:18951/hook'),
    )
    expect(adding(object, 'https://localhost:18951/hook')).not.toThrow()
  })
})
