import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import type { z } from 'zod'
import type {
  DeploymentEventType,
  EventDraft,
  EventType,
  SessionEvent,
} from '../../../src/contracts/event.ts'
import { deploymentEventSchemas } from '../../../src/contracts/events/deployment-event-schemas.ts'
import { eventSchemas } from '../../../src/contracts/event-schemas.ts'
import type { TurnRecord } from '../../../src/runtime/kernel/types/journal.ts'
import { fullEvents } from '../../../src/runtime/session/log/log-view.ts'
import { eventPage } from '../../../scripts/event-docs.mjs'
import payloads from '../../fixtures/events/payloads.json' with { type: 'json' }
import { checkDeployment, checkStored, checkTold } from '../../setup/check-events.ts'
import { deploymentPlace, places, withCheck } from '../../setup/checked-events.mjs'

const root = join(import.meta.dirname, '../../..')
const types = Object.keys(eventSchemas) as EventType[]
const deploymentTypes = Object.keys(deploymentEventSchemas) as DeploymentEventType[]

/** An event alone in a turn. */
const rowOf = (event: SampleEvent): TurnRecord =>
  ({
    turn: 3,
    steps: [],
    calls: [],
    modelCalls: [],
    events: [{ ...event, seq: 1, run: 'run_1', agent: 'a', trace: 'aa', atMs: 1 }],
    usage: {},
    isDone: true,
  }) as unknown as TurnRecord
interface SampleEvent {
  readonly type: string
  readonly data: object
}
/** Of each kind every set of fields that a run of the tests made. */
const stored = (payloads.session as readonly SampleEvent[]).map((event) => rowOf(event).events[0]!)

describe('the payloads of events', () => {
  it.each(types)('%s: a sample of it fits, and JSON keeps it', (type) => {
    const events = stored.filter((event) => event.type === type)
    expect(events.length).toBeGreaterThan(0)
    for (const event of events) {
      checkStored(event)
      const { data } = JSON.parse(JSON.stringify(event)) as SessionEvent
      const schema: z.ZodType = eventSchemas[type].data
      expect(schema.parse(data)).toEqual(event.data)
    }
  })

  it.each(types)('%s: a reader is told what its schema says, and nothing of the inside', (type) => {
    for (const event of stored.filter((one) => one.type === type)) {
      const [told] = fullEvents({ ...rowOf(event), events: [event] })
      checkTold(told!)
      expect(told!.data).not.toHaveProperty('detail')
    }
  })

  it.each(types)('%s: a wrong payload is refused', (type) => {
    const schema: z.ZodType = eventSchemas[type].data
    for (const { data } of stored.filter((event) => event.type === type))
      for (const [name] of Object.entries(data))
        expect(schema.safeParse({ ...data, [name]: { wrong: true } }).success).toBe(false)
    expect(schema.safeParse(null).success).toBe(false)
  })

  it.each(deploymentTypes)('%s: fits its schema, and a wrong payload does not', (type) => {
    const events = (payloads.deployment as readonly SampleEvent[]).filter(
      (event) => event.type === type,
    )
    expect(events.length).toBeGreaterThan(0)
    for (const { data } of events) {
      // The database puts in which grant it was.
      const whole = type === 'oauth_revoked' ? { grant: 'grant_1', ...data } : data
      checkDeployment({ type, data: JSON.parse(JSON.stringify(whole)) } as never)
      const schema: z.ZodType = deploymentEventSchemas[type]
      expect(schema.safeParse([whole]).success).toBe(false)
    }
  })

  it('a payload of another kind, or with a field too few, does not compile', () => {
    const emit = (_event: EventDraft) => undefined
    emit({ type: 'message_finished', data: { turn: 1 } })
    // @ts-expect-error A tool's payload.
    emit({ type: 'message_finished', data: { call: 'call_1', tool: 'kv__set' } })
    // @ts-expect-error Without the tool.
    emit({ type: 'call_denied', data: { call: 'call_1', reason: 'over_rate', rule: '' } })
    // @ts-expect-error No such kind.
    emit({ type: 'message_began', data: { turn: 1 } })
    expect(() => checkStored({ type: 'message_finished', data: { turn: '1' } } as never)).toThrow(
      'expected number',
    )
  })
})

describe('readers and pages of events', () => {
  it('no payload is read by a name that the compiler does not know', () => {
    const files = readdirSync(join(root, 'src'), { recursive: true, encoding: 'utf8' })
    const reads = files
      .filter((file) => file.endsWith('.ts') && !file.endsWith('.gen.ts'))
      .filter((file) =>
        /\bdata\s*(\?\.)?\[\s*['"`]/.test(readFileSync(join(root, 'src', file), 'utf8')),
      )
    // A misspelled field, or one that a newer payload has not, would be `undefined` without any error.
    expect(reads).toEqual([])
  })

  it('reports in SQL read fields that a kind of event has', () => {
    const fields = new Set([
      ...Object.values(eventSchemas).flatMap(({ data }) => Object.keys(data.shape)),
      ...Object.values(deploymentEventSchemas).flatMap((data) => Object.keys(data.shape)),
      'withMs', // of a tally, which stands for several events
      'maxMs',
    ])
    const asked = readdirSync(join(root, 'src'), { recursive: true, encoding: 'utf8' })
      .filter((file) => /\/(?:store|d1)\/.*\.ts$/.test(file))
      .flatMap((file) => {
        const text = readFileSync(join(root, 'src', file), 'utf8')
        return [...text.matchAll(/\bdata\}?->>?'(\w+)'/g)].map(([, name]) => name!)
      })
    expect(asked.length).toBeGreaterThan(10)
    expect(asked.filter((name) => !fields.has(name))).toEqual([])
  })

  it('docs/events.md is what the schemas say (npm run events writes it)', async () => {
    expect(readFileSync(join(root, 'docs/events.md'), 'utf8')).toBe(await eventPage())
  })

  it('every event of a test run passes by a check', () => {
    for (const place of [...places, deploymentPlace])
      expect(withCheck(readFileSync(join(root, place.file), 'utf8'), place)).toContain('unchecked')
  })
})
