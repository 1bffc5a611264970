import { describe, expect, it } from 'vitest'
import { createSessionWorld, never, session, settle } from '../../switches/session-world.ts'
import { agentSpec, says, sha256, toolEntry } from '../../fakes/kernel.ts'
import { childIdOf } from '../../../src/runtime/session/storage/ids.ts'
import { deleteChildren } from '../../../src/runtime/session/upkeep/ending.ts'
import { errandsOf } from '../../../src/runtime/session/runs/run-end.ts'
import { steerRun, takeDelivery } from '../../../src/runtime/session/waiting/outside.ts'

const spends = agentSpec().limits
const callsChild = (_request: unknown, index: number) =>
  index === 0 ? { calls: [{ name: 'reviewer__run', input: { task: 'look' } }] } : { text: 'done' }

/** A session whose agent calls another one, which never answers. */
function worldOf(options: { readonly background?: boolean } = {}) {
  const cancelled: (readonly unknown[])[] = []
  const world = createSessionWorld({
    script: (request, index) => {
      const { calls } = callsChild(request, index)
      return calls && options.background
        ? { calls: [{ name: 'reviewer__run', input: { task: 'look', background: true } }] }
        : callsChild(request, index)
    },
    entries: [
      toolEntry(
        'reviewer__run',
        async ({ background }, { emit, run, call }) => {
          const child = childIdOf({ session, run, call }, sha256)
          const data = {
            agent: 'reviewer',
            session: child,
            call,
            ...(background === true && { background }),
          }
          emit({ type: 'agent_invoked', data })
          return background === true ? says('started') : never
        },
        { isIdempotent: true, spends, agent: 'reviewer' },
      ),
    ],
    others: { cancelCall: async (...args) => void cancelled.push(args) },
  })
  return { ...world, cancelled }
}

describe('what came of many children in the background', () => {
  const deliveryOf = (parentRun: string, number: number) => ({
    parentRun,
    call: `call_${number}`,
    agent: 'reviewer',
    session: `ses_${number}`,
    isBackground: true,
    result: says('x'.repeat(400_000)),
  })

  it('I10: is all heard, in a row of a bounded size, with where the rest of it is', async () => {
    const { wake } = createSessionWorld({ script: () => ({ text: 'hi' }) })
    const life = wake()
    const { id } = await life.run()
    for (let number = 0; number < 100; number += 1) takeDelivery(deliveryOf(id, number), life)
    const { inbox = [] } = wake().row(id)
    expect(inbox).toHaveLength(100)
    expect(JSON.stringify(inbox).length).toBeLessThan(1_600_000)
    expect(JSON.stringify(inbox[0])).not.toContain('cut')
    expect(JSON.stringify(inbox[99])).toContain('The session ses_99 has all of it')
  })

  it('I10: leaves its run all the room there is for messages', async () => {
    const gate = Promise.withResolvers<void>()
    const { wake } = createSessionWorld({ script: () => ({ text: 'hi', wait: gate.promise }) })
    const life = wake()
    const { live, receipt } = await life.take()
    await live!.accepted
    const row = () => life.row(receipt.run)
    const result = says('x'.repeat(10_000))
    for (let number = 0; number < 64; number += 1)
      takeDelivery({ ...deliveryOf(receipt.run, number), result }, life)
    const message = (text: string) => ({ role: 'user', text, taint: ['user'] }) as const
    const steer = (id: string) => steerRun(row(), { id, message: message(id) }, life)
    for (let number = 0; number < 64; number += 1) expect(steer(`key:${number}`)).toBe(65 + number)
    expect(() => steer('key:one more')).toThrow('at most 64 messages')
    expect(steer('key:0')).toBe(65)
    gate.resolve()
    await live!.done
  })

  it('E8: is not asked to stop when it has said what came of it', async () => {
    const { wake, cancelled } = worldOf({ background: true })
    const life = wake()
    const { id } = await life.run()
    const [child] = life.children.ofRun(1)
    expect(child).toMatchObject({ agent: 'reviewer', isBackground: true })
    const asked = () => {
      const { store, children } = wake()
      const [row] = store.runs(1, 1)
      const final = { ...store.final(1)!, state: 'cancelled' } as const
      const [turns, begun] = [store.turns(1), children.ofRun(1)]
      return errandsOf(row!, { turns, final, children: begun })
    }
    expect(asked()).toMatchObject([{ kind: 'cancel', session: child!.session }])
    takeDelivery({ ...deliveryOf(id, 1), call: child!.call, session: child!.session }, life)
    expect(asked()).toEqual([])
    expect(cancelled).toEqual([])
  })
})

describe('a child', () => {
  it('E8, I10: is cancelled after a crash that came before anything but its intent was on record', async () => {
    const { wake, cancelled } = worldOf()
    const { live, receipt } = await wake().take()
    await live!.accepted
    await settle()
    // The object ends here: its next look, which would tell of the child, never comes.
    const life = wake()
    const run = life.row(receipt.run)
    expect(JSON.stringify(life.store.turns(run.order))).not.toContain('agent_invoked')
    await life.runs.cancel(run, 'enough')!.done
    await settle()
    expect(cancelled).toEqual([[receipt.run, expect.any(String), expect.any(String)]])
  })

  it('E8: stays noted when its turn is written again without it, until it is gone', async () => {
    const { wake } = worldOf({ background: true })
    const life = wake()
    await life.run()
    const [child] = life.children.ofRun(1)
    const [turn] = life.store.turns(1)
    expect(child).toMatchObject({ order: 1, agent: 'reviewer', call: turn!.calls[0]!.id })
    life.store.writeTurn(1, turn!)
    const later = wake()
    expect(later.children.ofRuns(1, 9, 16)).toEqual([child])
    // Known already: nothing is noted twice.
    later.children.add(1, [child!])
    expect(later.children.ofTurn(1, 1)).toHaveLength(1)
    later.children.remove([child!])
    expect(later.children.ofRuns(1, 9, 16)).toEqual([])
    expect(later.store.turns(1)[0]).toEqual(turn)
  })

  it('I10: is forgotten with the others of its turn in one write', async () => {
    const { wake, failWhere, runtime } = worldOf({ background: true })
    const life = wake()
    await life.run()
    const [child] = life.children.ofRun(1)
    const more = [1, 2, 3].map((at) => ({
      ...child!,
      session: `ses_${at}`,
      place: child!.place + at,
    }))
    life.children.add(1, more)
    let writes = 0
    failWhere((query) => (query.startsWith('UPDATE log SET id') && (writes += 1), false))
    const asked: string[] = []
    const one = (reply: () => unknown) => ({
      ...runtime.sessions.at(''),
      delete: async () => reply(),
    })
    const sessions = (keeps: string) =>
      ({
        at: (session: string) =>
          one(() => {
            asked.push(session)
            if (session !== keeps) return { ok: true, value: null }
            return { ok: false, error: { code: 'request_unavailable', message: 'Not yet.' } }
          }),
      }) as unknown as typeof runtime.sessions
    await expect(deleteChildren('operator', life, sessions('ses_2'))).rejects.toThrow('Not yet.')
    expect(life.children.ofRun(1).map((left) => left.session)).toEqual(['ses_2'])
    await deleteChildren('operator', life, sessions('nobody'))
    expect(asked).toHaveLength(5)
    expect([life.children.ofRun(1), writes]).toEqual([[], 2])
  })

  it('I12: that cannot be read holds up no others, and an operator is told', async () => {
    const { wake, sqlite, told } = worldOf({ background: true })
    const life = wake()
    for (let run = 0; run < 3; run += 1) await life.run()
    const [child] = life.children.ofRun(1)
    life.children.add(3, [child!])
    sqlite.exec(`UPDATE log SET id = '[{' WHERE run = 1 AND turn = 1`)
    sqlite.exec(`UPDATE log SET id = '{}' WHERE run = 2 AND turn = 1`)
    const { children } = wake()
    expect([children.ofRun(1), children.ofTurn(1, 1)]).toEqual([[], []])
    // Also where there are more of them than are asked for.
    expect(children.ofRuns(1, 3, 1)).toEqual([{ ...child, order: 3 }])
    expect(told.map(({ kind }) => kind)).toContain('record_unreadable')
  })
})
