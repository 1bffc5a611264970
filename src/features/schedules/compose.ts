import type { ScheduleIndex } from '#runtime/session/types/schedule-object.ts'
import type { PluginAdministration } from '#runtime/catalog/types/plugin-catalog.ts'
import {
  createAgentSchedules,
  createPluginSchedules,
  createPluginSubscriptions,
} from './plugin-schedules.ts'
import {
  createEventBus,
  createMissedEvents,
  createScheduleGateway,
  type GatewayDeps,
  createGlance,
  createWatchdog,
} from './gateway.ts'
import { createDeliver, type DeliverDeps } from './deliver.ts'
import { createScheduleHosts, type HostDeps } from './host.ts'
import { createScheduleTools, toolOwner } from './tools.ts'

export interface ScheduleParts
  extends Pick<HostDeps, 'clock' | 'checkUrl'>, Pick<DeliverDeps, 'send'>, GatewayDeps {
  readonly onFault: (error: unknown) => void
  readonly index: ScheduleIndex
  readonly sessions: {
    readonly gateway: HostDeps['sessions']
    readonly entry: Pick<HostDeps, 'submitAs'>
  }
  readonly governance: Pick<HostDeps, 'createJob'> & {
    readonly ofRuns: Pick<HostDeps, 'mayBegin'>
    readonly principals: Pick<HostDeps, 'report'>
  }
  readonly installed: Pick<DeliverDeps, 'snapshot'> & Pick<PluginAdministration, 'show'>
}

/** Schedules: the host for objects that keep them, the gateway to those objects, and the watchdog. */
export function composeSchedules({ sessions, governance, installed, ...parts }: ScheduleParts) {
  const gateway = createScheduleGateway(parts)
  const { submitAs } = sessions.entry
  const events = createEventBus({ ...parts, gateway })
  const ofPlugins = { ...parts, gateway, plugins: installed }
  const syncSchedules = createPluginSchedules(ofPlugins)
  const syncSubscriptions = createPluginSubscriptions(ofPlugins)
  const watch = createWatchdog({ ...parts, gateway })
  return {
    gateway,
    events,
    createHost: createScheduleHosts({
      ...parts,
      deliver: createDeliver({ ...parts, ...installed, gateway, submitAs }),
      sessions: sessions.gateway,
      submitAs,
      publish: createMissedEvents(events, parts.sha256),
      mayBegin: governance.ofRuns.mayBegin,
      createJob: governance.createJob,
      report: governance.principals.report,
    }),
    watch,
    glance: createGlance(watch, parts.clock),
    /** Tools that are no plugin's, with what agents are wired from. */
    tools: {
      id: toolOwner,
      entries: createScheduleTools({ ...parts, gateway }),
      isExclusive: false,
      offers: { resources: [], prompts: [] },
    },
    /** For the room that keeps agents without a plugin. */
    ofAgents: createAgentSchedules({ ...parts, gateway }),
    syncPlugins: async (plugin?: string) => {
      await syncSchedules(plugin)
      await syncSubscriptions(plugin)
    },
  }
}
