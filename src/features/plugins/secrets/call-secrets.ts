import { headOf } from '#contracts/cut.ts'
import { errorCode } from '#contracts/errors.ts'
import type { EventData } from '#contracts/event.ts'
import type { RequestedGrants } from '#contracts/manifest/manifest.ts'
import { ToolError } from '#features/plugins/types/plugin.ts'
import type { ReadSecrets } from '#features/access/types/secrets.ts'
import type { Clock, Ids } from '#contracts/sources.ts'
import type { ToolContext } from '#contracts/tool.ts'
import { failed, safeError } from '../types/plugin-output.ts'

/** The secrets that a plugin was granted. */
export type SecretGrants = RequestedGrants['secrets']

/** The call that uses secrets. */
export interface SecretUser extends Pick<ToolContext, 'call' | 'emit'> {
  readonly plugin: string
  /** Absent in a hook. */
  readonly tool?: string | undefined
}

export interface CallSecretsDeps {
  readonly readSecrets: ReadSecrets
  readonly ids: Pick<Ids, 'next'>
  readonly clock: Pick<Clock, 'nowMs'>
}

/** The secrets of one plugin within one call. */
export interface CallSecrets {
  readonly grants: SecretGrants
  /** Part of each placeholder of this call, and of no other call's. Random, so that no text can guess it. */
  readonly nonce: string
  /** Throws a ToolError that is safe for the plugin. */
  readonly read: ReadSecrets
  /** Records a use of a secret. */
  readonly used: (use: Pick<EventData<'secret_used'>, 'secret' | 'host' | 'place'>) => void
  /** Records a refusal, each once a call, and returns the error to throw. */
  readonly refuse: (name: string, message: string) => ToolError
  readonly nowMs: Clock['nowMs']
}

/** The secrets of one call; its placeholders are valid in no other call. */
export function createCallSecrets(
  grants: SecretGrants,
  { call, emit, plugin, tool }: SecretUser,
  { readSecrets, ids, clock }: CallSecretsDeps,
): CallSecrets {
  const made: { nonce?: string } = {}
  const told = new Set<string>()
  return {
    grants,
    // Made when first read: most calls have no secrets.
    get nonce() {
      return (made.nonce ??= ids.next('ref'))
    },
    read: withSafeErrors(readSecrets),
    used: (use) =>
      emit({ type: 'secret_used', data: { call, plugin, ...(tool && { tool }), ...use } }),
    refuse(name, message) {
      const secret = headOf(name, 64)
      const data = { call, capability: 'secrets', ...(secret !== '' && { secret }) }
      if (!told.has(name) && told.size < 100) emit({ type: 'capability_refused', data })
      told.add(name)
      return failed(message)
    },
    nowMs: clock.nowMs,
  }
}

/** The value of a granted secret; if it is not set, throws `tool_failed` with the operator's remedy. */
export function valueOf(values: ReadonlyMap<string, string>, name: string): string {
  const value = values.get(name)
  if (value !== undefined) return value
  throw failed(`The secret ${name} is not set. The operator sets it: isola secret set ${name}`)
}

/** Errors about a wrong key or secret state a remedy and are passed on; any other fault gets a general message. */
const withSafeErrors =
  (read: ReadSecrets): ReadSecrets =>
  async (names) => {
    try {
      return await read(names)
    } catch (error) {
      const isKnown = errorCode(error)?.startsWith('config_') ?? false
      const otherwise = 'The secrets of the deployment could not be read.'
      throw safeError(error, { isKnown, otherwise })
    }
  }
