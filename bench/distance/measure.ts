import {
  callers,
  cellsOf,
  measureCell,
  nameOf,
  rest,
  type Caller,
  type Cell,
  type CellOptions,
  type Measured,
} from './cells.ts'
import { closeClients } from './client.ts'
import { prepare } from './deployment.ts'

export interface MeasureOptions {
  readonly checkout: string
  readonly farMs: number
  /** Whether a cell of this name is wanted. Every cell is, if not given. */
  readonly only?: (name: string) => boolean
  /**
   * `wait`: rests of half a minute are waited for, and the callers have their processes one after the other, so that
   * times can be compared. `skip`: idle objects are dropped and clocks moved, and the processes run beside each other.
   */
  readonly rests: 'wait' | 'skip'
}

/** Measures the wanted cells, caller by caller in the order of the matrix. */
export async function measureAll(options: MeasureOptions): Promise<readonly Measured[]> {
  const { checkout, farMs, only = () => true, rests } = options
  const deployment = await prepare(checkout)
  const all = new Map<string, Measured>()
  try {
    const wanted = callers.map((who) => cellsToSend(who, only)).filter(({ length }) => length > 0)
    const groups = rests === 'wait' ? wanted.map((cells) => [cells]) : [wanted]
    for (const group of groups) {
      const processes: Process[] = []
      try {
        for (const cells of group) {
          const server = await deployment.start(farMs)
          const key = deployment.keys[cells[0]!.who]
          processes.push({ cells, options: { server, key, farMs, rests } })
        }
        for (const measured of await measureInStep(processes)) all.set(measured.name, measured)
      } finally {
        await Promise.all(processes.map(({ options: { server } }) => server.close()))
      }
    }
  } finally {
    await deployment.close()
    closeClients()
  }
  const names = callers.flatMap((who) => cellsOf(who).map(nameOf)).filter(only)
  return names.flatMap((name) => all.get(name) ?? [])
}

interface Process {
  readonly cells: readonly Cell[]
  readonly options: CellOptions
}

/**
 * The first cells of all processes, then the second ones, and so on. To start a process or to drop objects holds up
 * this process, which is client and model as well, so neither is done while a message is under way.
 */
async function measureInStep(processes: readonly Process[]): Promise<readonly Measured[]> {
  const found: Measured[] = []
  const most = Math.max(...processes.map(({ cells }) => cells.length))
  for (let at = 0; at < most; at += 1) {
    const step = processes.flatMap(({ cells, options }) => {
      const cell = cells[at]
      return cell ? [{ cell, options }] : []
    })
    await Promise.all(step.map(({ cell, options }) => rest(cell, options)))
    found.push(...(await Promise.all(step.map(({ cell, options }) => measureCell(cell, options)))))
  }
  return found
}

/** The wanted cells of one caller, and those that they follow: a fresh process, and a session's first message. */
function cellsToSend(who: Caller, only: (name: string) => boolean): readonly Cell[] {
  const cells = cellsOf(who)
  const kinds = cells.filter((cell) => only(nameOf(cell))).map(({ how }) => how)
  if (kinds.length === 0) return []
  return cells.filter(({ when, how }) => when === 'fresh' || kinds.includes(how))
}
