import { describe, expect, it } from 'vitest'
import type { Emitted } from '../../../src/runtime/session/types/audit-sink.ts'
import type { Tell } from '../../../src/runtime/session/storage/todo.ts'
import { createTodo } from '../../../src/runtime/session/storage/todo.ts'
import { createCourier } from '../../../src/runtime/session/waiting/courier.ts'
import { createPrincipalStorage } from '../../fakes/principal-storage.ts'

const tellsOf = (owners: readonly Tell['owner'][], seq: number) => ({
  owners,
  seq,
  event: { id: `ses:${seq}` } as Emitted,
})

function open(tell: (owner: string, event: Emitted) => Promise<void>) {
  const storage: unknown = createPrincipalStorage() // it binds whatever SQLite does
  const todo = createTodo(storage as Pick<DurableObjectStorage, 'sql'>)
  const courier = createCourier({
    todo,
    sessions: {} as never,
    settle: async () => {},
    release: async () => {},
    addRule: async () => {},
    tell,
    onTrouble: () => {},
  })
  const { sql } = storage as Pick<DurableObjectStorage, 'sql'>
  const bodies = () =>
    sql
      .exec('SELECT key, body FROM todo')
      .toArray()
      .map(({ body }) => String(body))
  return { todo, courier, sql, bodies }
}

describe('events on their way', () => {
  it('N12: reach each owner in the order of the log, and once', async () => {
    const told: string[] = []
    const { todo, courier } = open(async (owner, { id }) => void told.push(`${owner} ${id}`))
    for (const seq of [12, 3, 100]) todo.addTells(tellsOf(['principal:ada'], seq))
    todo.addTells(tellsOf(['principal:ada'], 12))
    await courier.carry()
    expect(told).toEqual(['principal:ada ses:3', 'principal:ada ses:12', 'principal:ada ses:100'])
    expect(courier.isDone()).toBe(true)
    expect(todo.errands()).toEqual([])
  })

  it('F10: stay where an owner cannot be reached, none before another, and hold up no other owner', async () => {
    const told: string[] = []
    const away = { is: true }
    const { todo, courier } = open(async (owner, { id }) => {
      if (away.is && owner === 'plugin:shop' && id === 'ses:2') throw new Error('It is away.')
      told.push(`${owner} ${id}`)
    })
    for (const seq of [1, 2, 3]) todo.addTells(tellsOf(['plugin:shop'], seq))
    todo.addTells(tellsOf(['principal:ada'], 1))
    await courier.carry()
    expect(told.toSorted()).toEqual(['plugin:shop ses:1', 'principal:ada ses:1'])
    expect(courier.isDone()).toBe(false)
    expect(courier.failures()).toBe(1)
    away.is = false
    await courier.carry()
    expect(told.slice(2)).toEqual(['plugin:shop ses:2', 'plugin:shop ses:3'])
    expect(courier.isDone()).toBe(true)
  })

  it('are kept once, however many are told of them, until the last one was', async () => {
    const owners = Array.from({ length: 500 }, (_, at) => `principal:p${at}` as const)
    const told: string[] = []
    const away = { is: true }
    const { todo, courier, bodies } = open(async (owner) => {
      if (away.is && owner === 'principal:p0') throw new Error('It is away.')
      told.push(owner)
    })
    const payload = { text: 'x'.repeat(8_000) }
    todo.addTells({ owners, seq: 1, event: { id: 'ses:1', payload } as unknown as Emitted })
    expect(bodies().join('').length).toBeLessThan(60_000)
    await courier.carry()
    expect(told).toHaveLength(499)
    expect(bodies()).toHaveLength(2)
    away.is = false
    await courier.carry()
    expect(bodies()).toEqual([])
  })

  it('are looked up some at a time, and none that an owner who is away would hold up', () => {
    const { todo } = open(async () => {})
    for (const seq of [1, 2, 3]) todo.addTells(tellsOf(['plugin:shop', 'principal:ada'], seq))
    expect(todo.tells(3).map(({ seq }) => seq)).toEqual([1, 1, 2])
    expect(todo.tells(9, new Set(['plugin:shop'])).map(({ owner }) => owner)).toEqual(
      Array(3).fill('principal:ada'),
    )
  })

  it('are forgotten without a word where nothing is kept', () => {
    const { todo } = open(async () => {})
    expect(() => todo.removeTell({ owner: 'principal:ada', seq: 1 })).not.toThrow()
    expect(todo.eventOf({ owner: 'principal:ada', seq: 1 })).toBeUndefined()
  })
})
