/** The roles; each principal has one. */
export const roles = ['operator', 'author', 'user', 'auditor'] as const

/** The rights of a principal; each route declares the roles that may call it. */
export type Role = (typeof roles)[number]

/** The scopes of a token, the least first. No scope gives more than the principal's role does. */
export const scopes = ['agents', 'approve', 'audit:read', 'plugins:install', 'operator'] as const

/**
 * What a client may be allowed in an OAuth sign-in. `approve` opens no route: without it the token can approve no
 * call, not even an operator's token.
 */
export type Scope = (typeof scopes)[number]

/**
 * A principal's daily limits where they differ from the deployment's, and when they were read. They travel with a
 * submission, so that a run that starts at once need not look them up again.
 */
export interface OwnLimits {
  readonly tokens?: number
  readonly costNanoUsd?: number
  /** Epoch milliseconds. */
  readonly asOfMs: number
}

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
