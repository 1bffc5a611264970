// isola status: which server answers, as whom, with which model, and what the day has left.
import type { Reply } from '../src/client/client.ts'
import { command } from './command.ts'
import { findServer, unless, ownVersion } from './connection.ts'
import { lines, short } from './text.ts'

type Status = Reply<'GET /api/status'>
type Health = Reply<'GET /api/operator/health'>

const usd = (amount: number | null) => (amount === null ? 'no limit' : `$${amount}`)

function dayText({ day }: Status): string {
  if (!day) return 'not known now'
  const { limits, settled, reserved } = day
  const isOpen = limits.tokens === null && limits.costUsd === null
  if (isOpen)
    return `${usd(settled.costUsd)} and ${settled.tokens ?? 0} tokens spent, no limit a day`
  const held = (reserved.costUsd ?? 0) > 0 || (reserved.tokens ?? 0) > 0
  return [
    limits.costUsd !== null && `${usd(settled.costUsd)} of ${usd(limits.costUsd)} spent`,
    limits.tokens !== null && `${settled.tokens ?? 0} of ${limits.tokens} tokens`,
    held && `${usd(reserved.costUsd)} and ${reserved.tokens ?? 0} tokens held for open runs`,
  ]
    .filter(Boolean)
    .join(', ')
}

function healthText({ status, plugins, incidents, models, secrets }: Health): string {
  const count = Object.values(incidents?.counts ?? {}).reduce((sum, one) => sum + one, 0)
  const wrong = [
    plugins.length > 0 && `plugins are off: ${plugins.map(({ plugin }) => plugin).join(', ')}`,
    count > 0 && `${count} incident${count === 1 ? '' : 's'}`,
    models.problem && short(models.problem, Infinity),
    secrets !== 'ok' && 'secrets cannot be used',
  ].filter(Boolean)
  return wrong.length === 0 && status === 'ok'
    ? 'ok'
    : `${status}: ${wrong.join('; ')} (isola doctor)`
}

export default command('status', {
  about:
    'Which server answers, its version and model, who you are there, and what your day has left. For ' +
    'operators and auditors its health, too.',
  async run({ ask, print, env }) {
    const { url } = findServer(env)
    const status = await ask('GET /api/status')
    // Only operators and auditors may know how the deployment is.
    const health = await ask('GET /api/operator/health').catch(unless(403))
    const own = ownVersion()
    const other = status.version === own ? '' : ` (this command is ${own})`
    const text = lines(
      `server  ${url} answers, version ${status.version}${other}`,
      `you     ${status.principal} (${status.role})`,
      `model   ${status.model ?? 'none: set OPENAI_API_KEY, or OPENAI_BASE_URL and ISOLA_MODEL'}`,
      `today   ${dayText(status)}`,
      health && `health  ${healthText(health)}`,
    )
    print({ url, ...status, health }, text)
  },
})
