import { expect, it } from 'vitest'
import type { Principal } from '../../../src/contracts/operations.ts'
import { createFakeApp } from '../../fakes/http-deps.ts'

const key: Principal = { id: 'ann', role: 'user', key: 'key_1' }
const token: Principal = {
  id: 'ann',
  role: 'user',
  grant: 'grant_1',
  token: { scopes: ['agents'], couldHave: [] },
}

async function labelOf(principal: Principal, json: object) {
  const { send } = createFakeApp({ deps: { authenticate: async () => principal } })
  const response = await send('/api/knowledge', { json: { text: 'Steep it.', ...json } })
  const { document } = (await response.json()) as {
    document?: { label: { integrity: string; confidentiality: string } }
  }
  return document?.label
}

it.each([
  ['a person’s key', key, { name: 'tea.md' }, 'data'],
  ['a person’s key, of others', key, { name: 'tea.md', integrity: 'stranger' }, 'stranger'],
  ['a person’s key, for an agent', key, { name: 'tea.md', scope: 'agent', agent: 'a' }, 'data'],
  ['an address', key, { name: 'https://tea.example/page' }, 'stranger'],
  ['an address in capitals', key, { name: ' HTTP://TEA.EXAMPLE' }, 'stranger'],
  ['an address of another kind', key, { name: 'ftp://tea.example/page' }, 'stranger'],
  ['an address of one’s own', key, { name: 'https://tea.example', integrity: 'data' }, 'data'],
  ['a path that looks a little like one', key, { name: 'notes/https:tea.md' }, 'data'],
  ['a program with a token', token, { name: 'tea.md' }, 'stranger'],
  ['a program with a token, of an address', token, { name: 'https://x.example' }, 'stranger'],
  ['a program with a token that says so', token, { name: 'tea.md', integrity: 'data' }, 'data'],
])('T4: whose a document is that comes with %s', async (_, principal, json, integrity) => {
  expect(await labelOf(principal, json)).toMatchObject({ integrity, confidentiality: 'private' })
})
