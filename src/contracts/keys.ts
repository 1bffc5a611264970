import type { OwnLimits } from './own-limits.ts'
import type { Role } from './role.ts'

export { roles, type Role } from './role.ts'

/** The rights of a principal, the same for each of its keys. An absent list allows all. */
export interface Rights {
  readonly role: Role
  /** Agents it may talk to. */
  readonly agents?: readonly string[]
  /** Models it may name in a request; an agent brings its own. */
  readonly models?: readonly string[]
  /** Its daily limits, where they differ from the deployment's. */
  readonly limits?: Omit<OwnLimits, 'asOfMs'>
}

/**
 * Whether these rights allow naming a model, however it is written: with its provider or without, or several
 * with commas between. `default` is the deployment's own.
 *
 * @param fullNameOf `<provider>/<model>`; `undefined` for one that is not served.
 */
export const mayNameModel = (
  allowed: Rights['models'],
  model: string,
  fullNameOf: (model: string) => string | undefined,
): boolean =>
  !allowed ||
  model === 'default' ||
  model.split(',').every((given) => {
    const one = given.trim()
    if (allowed.includes(one)) return true
    const name = fullNameOf(one)
    return name !== undefined && allowed.some((other) => fullNameOf(other) === name)
  })

/** The principal that administers keys, and its request: both are on the record. */
export interface Administrator {
  readonly principal: string
  readonly trace: string
  readonly requestId: string
}
