import { defined } from '#contracts/defined.ts'
import type { composeErasures } from '#features/record/erasure/erasures.ts'
import type { composeGovernance } from './governance.ts'
import type { composeCatalog } from '#runtime/catalog/compose.ts'
import type { composeSchedules } from '#features/schedules/compose.ts'
import type { parseConfig } from './settings.ts'
import type { composeStorage } from './storage.ts'

/** Runs jobs one after the other. */
export const inTurn =
  <Told extends readonly unknown[]>(
    ...jobs: readonly (((...told: Told) => Promise<void>) | undefined)[]
  ) =>
  async (...told: Told): Promise<void> => {
    for (const job of jobs) await job?.(...told)
  }

/** The jobs that the platform starts by the clock. Neither ever throws. */
export interface Triggers {
  /** The daily jobs. */
  readonly daily: () => Promise<void>
  /** The jobs of a trigger. An operator who starts a trigger by hand means the daily jobs. */
  readonly scheduled: (cron?: string) => Promise<void>
}

type Of<Compose extends (...parts: never[]) => unknown> = ReturnType<Compose>

interface TriggerParts {
  readonly config: Pick<Of<typeof parseConfig>, 'keepAuditMs'>
  readonly storage: Pick<Of<typeof composeStorage>, 'retention'>
  readonly catalog: Pick<Of<typeof composeCatalog>, 'installed'>
  readonly governance: Pick<Of<typeof composeGovernance>, 'logins' | 'principals'>
  readonly schedules: Pick<Of<typeof composeSchedules>, 'watch' | 'syncPlugins' | 'ofAgents'>
  readonly erasures: Pick<Of<typeof composeErasures>, 'watch'>
}

/** The trigger of `wrangler.toml` by which it is watched whether an alarm was lost. */
const everyMinute = '* * * * *'
/** The principal of work that no caller asked for. */
const isolaItself = { principal: '', trace: '', requestId: '', mayEnable: true }
const noop = () => undefined

export function composeTriggers(
  { config, storage, catalog, governance, schedules, erasures }: TriggerParts,
  keep: Parameters<Of<typeof composeStorage>['retention']>[0]['keep'],
): Triggers {
  const { keepAuditMs } = config
  const { logins, principals } = governance
  const daily = inTurn(
    storage.retention({
      ...defined({ keepAuditMs }),
      keep,
      collect: catalog.installed.collect,
      tell: principals.tell,
    }),
    logins.oauth?.daily,
    // Again, should a change of what is enabled have been cut before its end.
    schedules.syncPlugins,
    schedules.ofAgents.syncBehind,
    // Again, in case it failed after a key was removed; without plugins that the key signed it writes nothing. A
    // refusal is on the record, and the next day tries again.
    () => catalog.installed.change({ do: 'distrust' }, isolaItself).then(noop, noop),
  )
  const minutely = inTurn(schedules.watch, erasures.watch)
  return { daily, scheduled: (cron) => (cron === everyMinute ? minutely() : daily()) }
}
