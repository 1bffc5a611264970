import { DurableObject } from 'cloudflare:workers'
import { Lifecycle, type LifecycleJobContext } from 'agents/lifecycle'
import type { PluginServiceApi } from '../../types/plugin-service.ts'
import type { ObjectReply } from '#contracts/reply.ts'
import {
  scheduleJob,
  type CreateScheduleHost,
  type ScheduleAnswer,
  type ScheduleRequest,
} from '#runtime/session/types/schedule-object.ts'
import type { Space, StorageAnswer, StorageRequest } from '#contracts/space.ts'

/** The parts of a plugin's object that come from outside. */
export interface PluginServiceRuntime {
  readonly createSpace: (storage: DurableObjectStorage) => Space
  readonly createSchedules: CreateScheduleHost<DurableObjectStorage>
}

/**
 * The class behind the `PLUGIN_SERVICE` binding: one object for each plugin, with its storage and schedules for the
 * whole deployment.
 */
export function createPluginServiceClass(runtimeOf: () => PluginServiceRuntime) {
  return class extends DurableObject<Env> implements PluginServiceApi {
    readonly #runtime = runtimeOf()
    readonly lifecycle = Lifecycle.install(this)
    readonly #space = this.#runtime.createSpace(this.ctx.storage)
    readonly #schedules = this.#runtime.createSchedules(this.ctx.storage, this.lifecycle)

    onStart(): void {
      this.#schedules.restore()
    }

    async onJob({ job }: LifecycleJobContext): Promise<{ rescheduleAt: number } | void> {
      if (job.fn === scheduleJob) return this.#schedules.run()
    }

    async storage(request: StorageRequest): Promise<StorageAnswer> {
      return this.#space(request)
    }

    schedules(request: ScheduleRequest): Promise<ObjectReply<ScheduleAnswer>> {
      return this.#schedules.answer(request)
    }
  }
}
