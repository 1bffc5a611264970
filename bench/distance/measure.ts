import { callers, cellsOf, measureCell, nameOf, type Cell, type Measured } from './cells.ts'
import { closeClients } from './client.ts'
import { prepare, type FarDeployment } from './deployment.ts'

export interface MeasureAllOptions {
  readonly checkout: string
  readonly farMs: number
  readonly only: string
  readonly isPatient: boolean
}

/** Every cell whose name has the text `only`, in the order of the matrix: a process for each caller. */
export async function measureAll(options: MeasureAllOptions): Promise<readonly Measured[]> {
  const { checkout, only } = options
  const deployment = await prepare(checkout)
  try {
    const all: Measured[] = []
    for (const who of callers) {
      const wanted = cellsOf(who).filter((cell) => nameOf(cell).includes(only))
      if (wanted.length > 0) all.push(...(await measureProcess(wanted, { deployment, ...options })))
    }
    return all
  } finally {
    await deployment.close()
    closeClients()
  }
}

/** The cells of one caller in one process. Messages that a wanted cell follows are sent as well. */
async function measureProcess(
  wanted: readonly Cell[],
  { deployment, farMs, isPatient }: MeasureAllOptions & { readonly deployment: FarDeployment },
): Promise<readonly Measured[]> {
  const who = wanted[0]!.who
  const server = await deployment.start(farMs)
  try {
    const options = { server, key: deployment.keys[who], farMs, isPatient }
    const found: Measured[] = []
    for (const cell of cellsOf(who)) {
      const isWanted = wanted.some((one) => nameOf(one) === nameOf(cell))
      const isNeeded = wanted.some(({ how, when }) => how === cell.how && when !== 'fresh')
      if (!isWanted && !isNeeded && cell.when !== 'fresh') continue
      const measured = await measureCell(cell, options)
      if (isWanted) found.push(measured)
    }
    return found
  } finally {
    await server.close()
  }
}
