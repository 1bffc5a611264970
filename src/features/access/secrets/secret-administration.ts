import { invalidField } from '#platform/routes/json-shape.ts'
import { errorCode, errorMessage, IsolaError } from '#contracts/errors.ts'
import { eventOf } from '../key-administration.ts'
import {
  secretNameForm,
  type Resealed,
  type Rotation,
  type SealedSecret,
  type SecretAdministration,
  type SecretStore,
  type SecretView,
} from '../types/secrets.ts'
import type { Clock } from '#contracts/sources.ts'
import type { Sealing } from './sealing.ts'

const maxBytes = 16 * 1024
/** How many secrets are written in one transaction. */
const batchSize = 50

/** The store and seal of secrets, and the logs' redactor. */
export interface SecretAdministrationDeps {
  readonly secrets: SecretStore
  readonly sealing: Sealing
  readonly clock: Pick<Clock, 'nowMs'>
  /** Called with each value before its use: the logs redact it. */
  readonly learn: (value: string) => void
  /** Seals values of other tables again under the same keys. */
  readonly rotateOthers?: () => Promise<Rotation>
}

/** Sets, lists and removes secrets, each with its event. No function here returns a value. */
export function createSecretAdministration(deps: SecretAdministrationDeps): SecretAdministration {
  const { secrets, sealing, clock } = deps
  return {
    list: async () => (await secrets.list()).map(toView),
    async set({ name, value }, by) {
      checkName(name)
      deps.learn(value)
      checkValue(value)
      const about = { setBy: by.principal, setAtMs: clock.nowMs() }
      const secret = { ...(await sealing.seal(name, value)), ...about }
      await secrets.put(secret, eventOf('secret_set', by, about.setAtMs, { name }))
      return toView(secret)
    },
    async remove(name, by) {
      const [known] = secretNameForm.test(name) ? await secrets.find([name]) : []
      if (!known) throw new IsolaError('request_not_found', 'There is no such secret.')
      await secrets.remove(name, eventOf('secret_removed', by, clock.nowMs(), { name }))
    },
    async rotate(by) {
      const wrong = sealing.problem()
      if (wrong) throw wrong
      const all = await secrets.list()
      const old = all.filter((secret) => !sealing.isCurrent(secret))
      const { resealed, failed } = await resealAll(old, deps)
      for (let at = 0; at < resealed.length; at += batchSize) {
        const some = resealed.slice(at, at + batchSize)
        const data = { count: some.length }
        await secrets.reseal(some, eventOf('secrets_rotated', by, clock.nowMs(), data))
      }
      const others = await deps.rotateOthers?.()
      return {
        rotated: resealed.length + (others?.rotated ?? 0),
        current: all.length - old.length + (others?.current ?? 0),
        failed: [...failed, ...(others?.failed ?? [])],
      }
    },
  }
}

/** A secret that cannot be opened does not keep the others from being sealed. */
async function resealAll(
  secrets: readonly SealedSecret[],
  { sealing, learn }: SecretAdministrationDeps,
): Promise<{ readonly resealed: readonly Resealed[]; readonly failed: Rotation['failed'] }> {
  const resealed: Resealed[] = []
  const failed: Rotation['failed'][number][] = []
  for (const secret of secrets) {
    try {
      const value = await sealing.open(secret)
      learn(value)
      resealed.push({ ...(await sealing.seal(secret.name, value)), was: secret.sealed })
    } catch (error) {
      if (errorCode(error) !== 'config_invalid') throw error
      failed.push({ name: secret.name, message: errorMessage(error) })
    }
  }
  return { resealed, failed }
}

const toView = ({ name, keyId, setBy, setAtMs }: SealedSecret): SecretView => ({
  name,
  keyId,
  setBy,
  setAtMs,
})

function checkName(name: string): void {
  if (secretNameForm.test(name)) return
  throw invalidField(
    'name',
    'must be 1 to 64 capital letters, digits and underscores, and begin with a letter, such as GITHUB_TOKEN.',
  )
}

/** Error messages never contain the value, nor a part of it. */
function checkValue(value: string): void {
  const wrong = (what: string) => invalidField('value', `${what}.`)
  if (value === '') throw wrong('must not be empty; to take the secret away, remove it')
  if (new TextEncoder().encode(value).byteLength > maxBytes)
    throw wrong('must be at most 16 KiB (16,384 bytes)')
  if (value.includes('\0') || !value.isWellFormed()) throw wrong('must be text without NUL')
}
