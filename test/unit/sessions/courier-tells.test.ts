import { describe, expect, it } from 'vitest'
import type { Emitted } from '#contracts/event-bus.ts'
import { createTodo, type Tell } from '../../../src/sessions/storage/todo.ts'
import { createCourier } from '../../../src/sessions/waiting/courier.ts'
import { createPrincipalStorage } from '../../fakes/principal-storage.ts'

const tellOf = (owner: Tell['owner'], seq: number): Tell => ({
  owner,
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
  return { todo, courier }
}

describe('events on their way', () => {
  it('N12: reach each owner in the order of the log, and once', async () => {
    const told: string[] = []
    const { todo, courier } = open(async (owner, { id }) => void told.push(`${owner} ${id}`))
    for (const seq of [12, 3, 100]) todo.addTell(tellOf('principal:ada', seq))
    todo.addTell(tellOf('principal:ada', 12))
    await courier.carry()
    expect(told).toEqual(['principal:ada ses:3', 'principal:ada ses:12', 'principal:ada ses:100'])
    expect(courier.isDone()).toBe(true)
    expect(todo.errands()).toEqual([])
  })

  it('F10: stay where an owner cannot be reached, none before another, and hold up nobody else', async () => {
    const told: string[] = []
    const away = { is: true }
    const { todo, courier } = open(async (owner, { id }) => {
      if (away.is && owner === 'plugin:shop' && id === 'ses:2') throw new Error('It is away.')
      told.push(`${owner} ${id}`)
    })
    for (const seq of [1, 2, 3]) todo.addTell(tellOf('plugin:shop', seq))
    todo.addTell(tellOf('principal:ada', 1))
    await courier.carry()
    expect(told.toSorted()).toEqual(['plugin:shop ses:1', 'principal:ada ses:1'])
    expect(courier.isDone()).toBe(false)
    expect(courier.failures()).toBe(1)
    away.is = false
    await courier.carry()
    expect(told.slice(2)).toEqual(['plugin:shop ses:2', 'plugin:shop ses:3'])
    expect(courier.isDone()).toBe(true)
  })
})
