import { runInNewContext } from 'node:vm'
import { describe, expect, it } from 'vitest'
import { instrument } from '../../../scripts/walk/instrument.ts'
import {
  answering,
  callingTool,
  count,
  inIsolates,
  toSteps,
} from '../../../scripts/walk/measure.ts'
import { layerOf, roomOf } from '../../../scripts/walk/rooms.ts'

/** The value of this text as JSON, and the functions that it entered, in order. */
function run(text: string) {
  const entered: number[] = []
  const { text: code } = instrument(text, { path: 'a.js', firstId: 10 })
  const value: unknown = runInNewContext(`JSON.stringify(${code})`, {
    __walk: (id: number) => void entered.push(id),
  })
  return { value, entered }
}

describe('the room of a file', () => {
  it.each([
    ['sessions/runs/admission.ts', 'sessions'],
    ['features/schedules/routes.ts', 'features/schedules'],
    ['runtime/session/runs/run.ts', 'runtime/session'],
    ['features/types.ts', 'features'],
    ['compose/features.ts', 'compose'],
    ['index.ts', 'src'],
  ])('of %s is %s', (path, room) => expect(roomOf(path)).toBe(room))

  it('has the layer that its path begins with', () => {
    expect(layerOf('features/schedules')).toBe('features')
    expect(layerOf('contracts')).toBe('contracts')
  })
})

describe('instrument', () => {
  it('makes every kind of function say that it was entered, and changes nothing that they return', () => {
    const { value, entered } = run(`(() => {
      class Base { constructor() { this.a = 1 } }
      class Own extends Base { constructor() { super(); this.b = 2 } get sum() { return this.a + this.b } }
      const nested = (x) => (y) => ({ x, y })
      function named() { return [new Own().sum, nested(1)(2), [3].map((x) => x + 1)] }
      return named()
    })()`)
    expect(value).toBe('[3,{"x":1,"y":2},[4]]')
    // The whole, named, Own, Base, sum, nested twice, and the callback: numbered as they stand in the text.
    expect(entered).toEqual([10, 16, 12, 11, 13, 14, 15, 17])
  })

  it('counts the functions, leaves out what has no body, and moves no line', () => {
    const text =
      'export function a(b: string): string\nexport function a(b: unknown) {\n  return b\n}\n'
    const { text: made, count: functions } = instrument(text, { path: 'a.ts' })
    expect(functions).toBe(1)
    expect(made.split('\n')[2]).toBe('  return b')
  })

  it('refuses a text that is no module', () => {
    expect(() => instrument('const = 1', { path: 'a.ts' })).toThrow('a.ts')
  })
})

const place = (file: string, line = 1) => ({ file, line })
const entry = (id: number, file: string, ...callers: ReturnType<typeof place>[]) => ({
  id,
  file,
  callers,
})

describe('toSteps', () => {
  it('reads the stack of each entry without the function itself and without packages', () => {
    const places: Record<string, ReturnType<typeof place>> = {
      '1:1': place('kernel/run.ts', 7),
      '3:1': place('http/app.ts', 9),
    }
    const steps = toSteps(
      { entries: [['request'], [0, 0], [1, 1]], stacks: ['1:1 2:1 3:1', ''] },
      { fileOf: (id) => ['kernel/run.ts', 'http/app.ts'][id] ?? '', placeOf: (at) => places[at] },
    )
    expect(steps).toEqual([
      { mark: 'request' },
      entry(0, 'kernel/run.ts', place('http/app.ts', 9)),
      entry(1, 'http/app.ts'),
    ])
  })
})

describe('an entry in an isolate', () => {
  it('counts as a file, and crosses no border', () => {
    const file = 'plugins/sandbox/inside/entry.ts'
    const entries = inIsolates({ inIsolates: [4, 4] }, () => file)
    expect(count(entries, new Map([[file, 9]]))).toMatchObject({ files: 1, borders: 0, lines: 9 })
  })
})

describe('count', () => {
  const lines = new Map([
    ['http/app.ts', 10],
    ['http/body.ts', 20],
    ['sessions/submit.ts', 30],
  ])

  it('counts a file once, and a border for each line that calls a function of another room', () => {
    const walk = count(
      [
        entry(0, 'http/app.ts'),
        entry(1, 'http/body.ts', place('http/app.ts', 3)),
        entry(2, 'sessions/submit.ts', place('http/body.ts', 4), place('http/app.ts', 3)),
        entry(2, 'sessions/submit.ts', place('http/body.ts', 4), place('http/app.ts', 3)),
        entry(2, 'sessions/submit.ts', place('http/body.ts', 5)),
        { mark: 'sent http://127.0.0.1:1' },
        entry(1, 'http/body.ts', place('sessions/submit.ts', 8)),
      ],
      lines,
    )
    expect(walk).toMatchObject({ files: 3, borders: 3, lines: 60, changes: 1, pairs: 2 })
    expect(walk).toMatchObject({ crossings: 4, functions: 3 })
    expect(walk.rooms).toEqual([
      { layer: 'http', room: 'http', files: 2, borders: 1, lines: 30 },
      { layer: 'sessions', room: 'sessions', files: 1, borders: 2, lines: 30 },
    ])
  })
})

describe('the part of a recording', () => {
  const origin = 'http://127.0.0.1:1'
  const kernel = place('runtime/kernel/execute.ts', 5)
  const plugins = place('features/plugins/tools/call.ts', 6)
  const call = [
    entry(3, plugins.file, kernel),
    { mark: `sent ${origin}` },
    { mark: `answered ${origin}` },
    // What the call tells the kernel is a part of it.
    entry(4, kernel.file, plugins),
    entry(5, 'platform/outbound/send.ts'),
  ]
  const steps = [
    entry(0, 'runtime/session/alarm.ts'),
    { mark: 'request' },
    entry(1, 'surfaces/http/app.ts'),
    entry(2, kernel.file),
    ...call,
    entry(6, kernel.file),
    { mark: 'answer' },
    entry(7, 'runtime/session/upkeep.ts'),
  ]

  it('that answers a request ends with its answer', () => {
    expect(answering(steps)).toEqual(steps.slice(1, -2))
    expect(() => answering(steps.slice(0, 4))).toThrow('no request that was answered')
  })

  it('that is the tool call ends where the kernel goes on', () => {
    expect(callingTool(steps, origin)).toEqual(call)
    expect(() => callingTool(steps, 'http://127.0.0.1:2')).toThrow('no call of the tool')
  })
})
