import { headOf } from '#contracts/cut.ts'
import type { Incident, PrincipalLedger } from '../types/principal.ts'
import type { Todo } from '../storage/todo.ts'

const maxProblemChars = 200

/** Tells the operator of an incident; without a message, that the incident is over. */
export type Report = (kind: Incident['kind'], message: string | undefined, run?: string) => void

export interface IncidentOptions {
  readonly principals: Pick<PrincipalLedger, 'report'>
  readonly identity: { readonly id: string }
  readonly todo: Pick<Todo, 'noteTrouble' | 'clearTrouble'>
}

export function createReport({ principals, identity, todo }: IncidentOptions): Report {
  const open = new Set<Incident['kind']>()
  return (kind, message, run) => {
    const about = { kind, session: identity.id, ...(run !== undefined && { run }) }
    if (message !== undefined) {
      // Stored, so that the end of the incident is reported after a restart too. If storage fails, the set in memory is
      // the only copy.
      open.add(kind)
      attempt(() => todo.noteTrouble(kind))
      principals.report({ ...about, message: headOf(message, maxProblemChars) })
      return
    }
    const wasStored = attempt(() => todo.clearTrouble(kind))
    if (open.delete(kind) || wasStored) principals.report({ ...about, message: '', isOver: true })
  }
}

function attempt(work: () => boolean): boolean {
  try {
    return work()
  } catch {
    return false
  }
}
