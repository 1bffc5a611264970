import { lengthPrefixed } from '#contracts/naming.ts'
import { errorCode } from '#contracts/errors.ts'
import type { PluginAdministration } from '#contracts/plugin-catalog.ts'
import { cronOfManifest, toScheduleSpec, workOfPlugin } from '#contracts/schedule-spec.ts'
import type { ScheduleGateway, ScheduleIndex } from '#contracts/schedule-object.ts'
import type { Schedule, ScheduleSpec } from '#contracts/schedule.ts'
import type { Sources } from '#contracts/sources.ts'

export interface PluginSchedulesDeps extends Pick<Sources, 'sha256'> {
  readonly gateway: Pick<ScheduleGateway, 'ask'>
  readonly index: Pick<ScheduleIndex, 'find' | 'list'>
  readonly plugins: Pick<PluginAdministration, 'list' | 'show'>
  readonly onFault: (error: unknown) => void
}

const by = { principal: 'operator', trace: '' }
const maxListed = 500

/**
 * Brings the objects of plugins to what is enabled: each whose manifest has a schedule keeps it, in the operator's name,
 * who allowed it with the plugin; of the others none is left. Asked again it changes nothing. Never throws.
 *
 * @param plugin The one that was changed, so that one more of thousands costs as much as one of ten; absent: all.
 */
export function createPluginSchedules(
  deps: PluginSchedulesDeps,
): (plugin?: string) => Promise<void> {
  const { gateway, index, plugins, sha256 } = deps
  const idOf = (plugin: string) =>
    `sch_${sha256(lengthPrefixed(['plugin-schedule', plugin])).slice(0, 22)}`

  const keep = async (plugin: string, name: string, cron: string): Promise<void> => {
    const [owner, id] = [`plugin:${plugin}`, idOf(plugin)] as const
    const when = { cron, timeZone: 'UTC' }
    const work = workOfPlugin(plugin)
    const spec: ScheduleSpec = toScheduleSpec({ name }, { when, work, limits: undefined })
    const schedule = { id, owner, asker: { principal: by.principal }, spec }
    try {
      await gateway.ask(owner, 'add', { schedule, by })
    } catch (error) {
      // Another version has another time.
      if (errorCode(error) !== 'request_idempotency_mismatch') throw error
      await gateway.ask(owner, 'remove', { id, by })
      await gateway.ask(owner, 'add', { schedule, by })
    }
  }
  const drop = ({ owner, id }: Schedule) =>
    gateway.ask(owner, 'remove', { id, by }).catch((error: unknown) => {
      if (errorCode(error) !== 'request_not_found') throw error
    })

  const syncOne = async (plugin: string): Promise<void> => {
    const view = await plugins.show(plugin)
    const cron = view?.state === 'enabled' ? cronOfManifest(view.manifest) : undefined
    const name: unknown = Object(view?.manifest).name
    if (cron !== undefined) return keep(plugin, typeof name === 'string' ? name : plugin, cron)
    // An object is woken only if it may have one.
    const kept = await index.find(idOf(plugin))
    if (kept) await drop(kept)
  }

  return async (plugin) => {
    try {
      if (plugin !== undefined) return await syncOne(plugin)
      const enabled = (await plugins.list()).filter(({ state }) => state === 'enabled')
      const wanted = new Map<string, { readonly name: string; readonly cron: string }>()
      for (const { id, name } of enabled) {
        const cron = cronOfManifest((await plugins.show(id))?.manifest)
        if (cron !== undefined) wanted.set(id, { name: name ?? id, cron })
      }
      for (const [id, { name, cron }] of wanted) await keep(id, name, cron)
      const listed = await index.list({ principal: by.principal, limit: maxListed })
      const isLeft = ({ owner, id }: Schedule) => {
        const plugin = owner.startsWith('plugin:') ? owner.slice('plugin:'.length) : undefined
        return plugin !== undefined && id === idOf(plugin) && !wanted.has(plugin)
      }
      for (const one of listed.filter(isLeft)) await drop(one)
    } catch (error) {
      deps.onFault(error)
    }
  }
}
