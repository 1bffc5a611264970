import { IsolaError } from '#contracts/errors.ts'
import { createScheduleGateway, type GatewayDeps } from './gateway.ts'
import { createScheduleHosts, type HostDeps } from './host.ts'
import { toNotice } from './told.ts'
import { createWatchdog, type WatchdogDeps } from './watchdog.ts'

export interface ScheduleParts
  extends Pick<HostDeps, 'clock' | 'createJob'>, GatewayDeps, Pick<WatchdogDeps, 'onFault'> {
  readonly index: HostDeps['index'] & WatchdogDeps['index']
  readonly sessions: {
    readonly gateway: HostDeps['sessions']
    readonly entry: Pick<HostDeps, 'submitAs'>
  }
  readonly governance: Pick<HostDeps, 'mayBegin'> & {
    readonly principals: Pick<HostDeps, 'report'>
  }
}

/** Schedules: what the objects that keep them do, the way to them, and who watches. */
export function composeSchedules({ sessions, governance, ...parts }: ScheduleParts) {
  const gateway = createScheduleGateway(parts)
  const deliver: HostDeps['deliver'] = async (to, { schedule, slot, key }) => {
    if (to.to !== 'principal')
      throw new IsolaError('request_unavailable', `${to.to} takes nothing yet.`)
    const notice = toNotice(schedule, slot, key)
    await gateway.ask(`principal:${schedule.asker.principal}`, 'notify', { notice })
  }
  return {
    gateway,
    createHost: createScheduleHosts({
      ...parts,
      deliver,
      sessions: sessions.gateway,
      submitAs: sessions.entry.submitAs,
      mayBegin: governance.mayBegin,
      report: governance.principals.report,
    }),
    watch: createWatchdog({ ...parts, gateway }),
  }
}
