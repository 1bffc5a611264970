import { headOf } from '#contracts/cut.ts'
import type { Incident, PrincipalLedger } from '../types/principal.ts'
import type { Todo } from '../storage/todo.ts'

const maxProblemChars = 200

/** Tells the operator that something is wrong; without a message, that it is over. */
export type Report = (kind: Incident['kind'], message: string | undefined, run?: string) => void

export interface IncidentOptions {
  readonly principals: Pick<PrincipalLedger, 'report'>
  readonly sessionId: () => string
  readonly todo: () => Pick<Todo, 'noteTrouble' | 'clearTrouble'>
}

export function createReport({ principals, sessionId, todo }: IncidentOptions): Report {
  const told = new Set<Incident['kind']>()
  return (kind, message, run) => {
    const about = { kind, session: sessionId(), ...(run !== undefined && { run }) }
    if (message !== undefined) {
      // What was told is remembered over a restart, so that its end is told too; where nothing can be stored, it is not.
      told.add(kind)
      attempt(() => todo().noteTrouble(kind))
      principals.report({ ...about, message: headOf(message, maxProblemChars) })
      return
    }
    const wasStored = attempt(() => todo().clearTrouble(kind))
    if (told.delete(kind) || wasStored) principals.report({ ...about, message: '', isOver: true })
  }
}

function attempt(work: () => boolean): boolean {
  try {
    return work()
  } catch {
    return false
  }
}
