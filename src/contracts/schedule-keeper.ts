import type { Schedule, ScheduleKeeper } from './schedule.ts'

/** Whose object keeps a schedule: an agent's are with the principal that owns the agent. */
export const keeperOf = ({ owner, asker }: Pick<Schedule, 'owner' | 'asker'>): ScheduleKeeper =>
  isAgents(owner) ? `principal:${asker.principal}` : owner

const isAgents = (owner: Schedule['owner']): owner is `agent:${string}` =>
  owner.startsWith('agent:')
