import { expect, it } from 'vitest'
import { isola } from '../../fakes/terminal.ts'

it('isola policy test tries rules of labels with what was read and what the call does, and says what is told', async () => {
  const asked: unknown[] = []
  const fetch = async (_url: string, { body }: RequestInit = {}) => {
    asked.push(JSON.parse(String(body)))
    const who = { tool: 'http__get', agent: 'orchestrator', principal: 'operator' }
    const about = 'Whoever asks for this call has read private data (crm__find).'
    return Response.json({ ...who, verdict: 'ask', rule: 'deployment: ask', about, rates: [] })
  }
  const env = { ISOLA_KEY: 'isk_test', ISOLA_URL: 'http://localhost:1' }
  const io = { env, fetch: fetch as typeof globalThis.fetch }
  const url = 'https://a.example/'
  const { stdout, code } = await isola(
    ['policy', 'test', '--tool', 'http__get', '--sink', 'egress', '--url', url].concat(
      ['--read', 'http__get news.example,stranger,public', '--read', 'crm__find'],
      ['--integrity', 'stranger'],
    ),
    io,
  )
  const sources = [
    { from: 'http__get news.example', integrity: 'stranger', confidentiality: 'public' },
    { from: 'crm__find' },
  ]
  const label = { integrity: 'stranger', sources }
  expect(asked).toEqual([{ tool: 'http__get', label, sinks: ['egress'], url }])
  expect([code, stdout]).toEqual([
    0,
    'http__get is called once it is approved by orchestrator for operator (deployment: ask).\n' +
      'Whoever asks for this call has read private data (crm__find).\n',
  ])
})
