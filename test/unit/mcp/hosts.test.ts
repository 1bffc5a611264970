import { describe, expect, it } from 'vitest'
import { createFakeApp } from '../../fakes/http-deps.ts'

const hosts = ['agents.example.com']

async function statusOf(url: string, headers: Record<string, string>) {
  const { send } = createFakeApp({ deps: { hosts } })
  const json = { jsonrpc: '2.0', id: 1, method: 'ping' }
  const accept = 'application/json, text/event-stream'
  return (await send(url, { json, headers: { accept, ...headers } })).status
}

describe('T17: /mcp', () => {
  it.each([
    ['http://localhost:8787/mcp', 'localhost:8787'],
    ['http://127.0.0.1:8787/mcp', '127.0.0.1:8787'],
    ['https://isola.team.workers.dev/mcp', 'isola.team.workers.dev'],
    ['https://agents.example.com/mcp', 'agents.example.com'],
  ])('answers under its own names: %s', async (url, host) => {
    expect(await statusOf(url, { host })).toBe(200)
    expect(await statusOf(url, { host, origin: new URL(url).origin })).toBe(200)
  })

  it.each([
    ['http://localhost:8787/mcp', 'evil.example:8787'],
    ['https://isola.team.workers.dev/mcp', 'other.team.workers.dev'],
    ['https://agents.example.com/mcp', 'agents.example.com.evil.example'],
    ['https://unnamed.example.com/mcp', 'unnamed.example.com'],
    ['http://localhost:8787/mcp', 'not a host'],
  ])('refuses a host that is not configured: %s as %s', async (url, host) => {
    expect(await statusOf(url, { host })).toBe(403)
  })

  it.each([
    'https://evil.example',
    'https://localhost.evil.example',
    'null',
    'file://',
    'nonsense',
  ])('refuses a page of another origin: %s', async (origin) => {
    expect(await statusOf('http://localhost:8787/mcp', { host: 'localhost', origin })).toBe(403)
  })

  it('takes any port of a name: who listens there is no business of a page', async () => {
    const headers = { host: 'localhost:8787', origin: 'http://localhost:3000' }
    expect(await statusOf('http://localhost:8787/mcp', headers)).toBe(200)
  })
})
