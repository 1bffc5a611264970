import { call, callJson, type Answer } from './client.ts'
import type { UpstreamScript } from './upstream.ts'

const path = '/api/operator/plugins'

/** A plugin with one tool, as its author would send it; `says` is what its tool answers. */
export function pluginBundle(id: string, says: string, manifest: Record<string, unknown> = {}) {
  const code = `export default () => ({ tools: { async say(input, can) { return ${JSON.stringify(says)} } } })`
  return {
    manifest: {
      id,
      name: 'Sayer',
      version: '1.0.0',
      entrypoint: 'main.ts',
      description: 'Says what it says.',
      contributes: { tools: [{ name: 'say', description: `Says something for ${id}.` }] },
      ...manifest,
    },
    code,
    files: {},
  }
}

export const addPlugin = (bundle: object, more: object = {}): Promise<Answer> =>
  callJson(path, { json: { bundle, ...more } })

export const changePlugin = (id: string, what: string, json: object = {}): Promise<Answer> =>
  callJson(`${path}/${id}/${what}`, { json })

export const tryChange = (id: string, what: string, json: object = {}): Promise<Response> =>
  call(`${path}/${id}/${what}`, { json })

export const showPlugin = (id: string): Promise<Answer> => callJson(`${path}/${id}`)

/** Allows what it asks for, with what it tells models of itself, and switches it on. */
export async function enablePlugin(id: string): Promise<Answer> {
  const { hash, asks } = await showPlugin(id)
  await changePlugin(id, 'grant', { hash, permit: asks, texts: true })
  return changePlugin(id, 'enable')
}

/** A model that calls one installed tool and then says what it answered. */
export const callsTool =
  (name: string, input: object = {}): UpstreamScript =>
  ({ messages }) => {
    const answer = messages.find(({ role }) => role === 'tool')
    return answer
      ? { text: String(answer.content) }
      : { calls: [{ name: 'isola__call', input: { name, input } }] }
  }

/** One run of a new session: what the model said last. */
export async function runOnce(): Promise<string> {
  const { id } = await callJson('/api/sessions', { json: {} })
  const { result } = await callJson(`/api/sessions/${id}/runs`, {
    json: { task: 'go', wait: true },
  })
  return String(result.result)
}
