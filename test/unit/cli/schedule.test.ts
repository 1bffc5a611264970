import { expect, it } from 'vitest'
import { isola } from '../../fakes/terminal.ts'

const id = 'sch_0000000000000000000001'

/** What the command sends: the server refuses it, so that nothing of an answer is needed. */
async function sent(...argv: readonly string[]) {
  const requests: { readonly route: string; readonly body: unknown }[] = []
  const { stderr } = await isola(['schedule', ...argv], {
    env: { ISOLA_URL: 'http://localhost', ISOLA_KEY: 'isk_test' },
    fetch: (async (url: string, { method, body }: RequestInit) => {
      requests.push({
        route: `${method} ${new URL(url).pathname}`,
        body: body === undefined ? undefined : JSON.parse(String(body)),
      })
      const error = { type: 'invalid_request_error', code: 'invalid', message: 'no.' }
      return Response.json({ error }, { status: 400 })
    }) as typeof fetch,
  })
  return { ...requests[0], stderr }
}

it('M9: a heartbeat within hours, with what its check has to hold', async () => {
  const check = ['--check', 'memory__recall', '--check-input', '{"query":"todo"}']
  const argv = ['--heartbeat', '--every', '30', '--hours', '8-22', '--zone', 'Europe/Berlin']
  expect(await sent('add', 'Look.', ...argv, ...check, '--check-has', 'notes')).toMatchObject({
    route: 'POST /api/schedules',
    body: {
      task: 'Look.',
      when: { everyMinutes: 30, hours: '8-22', timeZone: 'Europe/Berlin' },
      check: { tool: 'memory__recall', input: { query: 'todo' }, has: 'notes' },
      heartbeat: true,
    },
  })
})

it('Y10: a schedule of a plugin, for oneself', async () => {
  const { body } = await sent('add', '--plugin', 'price-monitor', '--deliver', 'none')
  expect(body).toEqual({ plugin: 'price-monitor', deliver: { to: 'none' } })
})

it('changes what is named, and takes away what --without names', async () => {
  const argv = ['edit', id, 'Stop.', '--daily-tokens', '9', '--daily-cost', '0.5']
  expect(await sent(...argv, '--without', 'check', '--without', 'not-after')).toMatchObject({
    route: `POST /api/schedules/${id}`,
    body: {
      task: 'Stop.',
      daily: { tokens: 9, costUsd: 0.5 },
      check: null,
      notAfterMinutes: null,
    },
  })
})

it.each([
  [['add', 'x', '--every', '5', '--deliver', 'slack'], 'there are no channels yet'],
  [['add', 'x', '--hours', '8-22'], '--hours goes with --every'],
  [['add', 'x', '--every', '5', '--daily-cost', 'nope'], '--daily-cost is an amount in dollars'],
  [['add', 'x', '--every', '5', '--zone', 'Europe/Berlin'], '--zone goes with --cron, or with'],
  [['add', 'x', '--every', '5', '--check-has', 'notes'], '--check-has go with --check'],
  [['edit', id, '--without', 'name'], '--without is check, not-after, limits, not name'],
])('%j is refused before anything is sent', async (argv, message) => {
  const { route, stderr } = await sent(...argv)
  expect(route).toBeUndefined()
  expect(stderr).toContain(message)
})
