import { expect, it } from 'vitest'
import { watchCall } from '../../../src/platform/models/openai/request-once.ts'

/** The timer of a run, moved by hand. */
function createTimer() {
  const open = new Set<() => void>()
  return {
    open,
    after: (_ms: number, due: () => void) => {
      open.add(due)
      return () => void open.delete(due)
    },
    ring: () => [...open].forEach((due) => open.delete(due) && due()),
  }
}

const watched = (timer: ReturnType<typeof createTimer>, limits: object = {}) => {
  const caller = new AbortController()
  const sleep = () => {
    throw new Error('It set a timer of its own.')
  }
  const settings = { timeoutMs: 60_000, idleMs: 4_000, ...limits }
  const watch = watchCall({ sleep, after: timer.after, signal: caller.signal, ...settings })
  return { caller, watch }
}
const never = new Promise<never>(() => {})

it('a call is watched by the timer of its run, and leaves nothing there', async () => {
  const timer = createTimer()
  const { watch } = watched(timer)
  expect(timer.open.size).toBe(1)
  timer.ring()
  expect(timer.open.size).toBe(1)
  await expect(watch.unlessStopped(Promise.resolve('said'))).resolves.toBe('said')
  watch.end()
  expect(timer.open.size).toBe(0)
  expect(watch.signal.aborted).toBe(false)
})

it('silence ends it once something was heard, and the deadline in any case', async () => {
  const timer = createTimer()
  const { watch } = watched(timer)
  for (let looks = 0; looks < 8; looks += 1) timer.ring()
  watch.beat()
  for (let looks = 0; looks < 4; looks += 1) timer.ring()
  expect(watch.signal.aborted).toBe(false)
  timer.ring()
  const said = 'The model sent nothing for 4000 ms.'
  await expect(watch.unlessStopped(never)).rejects.toMatchObject({ message: said })
  expect(timer.open.size).toBe(0)

  const late = watched(timer, { timeoutMs: 2_500 })
  for (let looks = 0; looks < 3; looks += 1) timer.ring()
  await expect(late.watch.unlessStopped(never)).rejects.toMatchObject({ code: 'model_timeout' })
})

it('the reason of its caller ends it, before it began or after', async () => {
  const timer = createTimer()
  const { caller, watch } = watched(timer)
  caller.abort(new Error('gone'))
  await expect(watch.unlessStopped(never)).rejects.toThrow('gone')
  expect(watch.signal.reason).toMatchObject({ message: 'gone' })
  watch.end()
  const settings = { sleep: async () => {}, timeoutMs: 9, idleMs: 9, after: timer.after }
  const late = watchCall({ ...settings, signal: caller.signal })
  await expect(late.unlessStopped(never)).rejects.toThrow('gone')
  late.end()
  expect(timer.open.size).toBe(0)
})
