import { callJson, type Answer } from './client.ts'
import { addPlugin, enablePlugin } from './plugin-admin.ts'
import { supportBundle } from './support-bundle.ts'
import type { UpstreamRequest } from './upstream.ts'

export async function installSupport(
  id: string,
  handoff: object = {},
  agent: Record<string, unknown> = {},
): Promise<void> {
  await addPlugin(supportBundle(id, handoff, agent))
  await enablePlugin(id)
}

export const handOver = (id: string, task = 'The user needs help with an order.') => ({
  calls: [{ name: 'isola__call', input: { name: `${id}__run`, input: { task } } }],
})

export const giveBack = (summary: string) => ({
  calls: [{ name: 'isola__return', input: { summary } }],
})

/** The user's last message in a model's request. */
export const lastSaid = ({ messages }: UpstreamRequest): string =>
  String(messages.findLast(({ role }) => role === 'user')?.content)

export const isOf = (id: string, { model }: UpstreamRequest): boolean => model === id

export const newSession = async (): Promise<string> =>
  (await callJson('/api/sessions', { json: {} })).id as string

export const say = (session: string, task: string, more: object = {}): Promise<Answer> =>
  callJson(`/api/sessions/${session}/runs`, { json: { task, wait: true, ...more } })

export const words = async (session: string, task: string): Promise<string> =>
  (await say(session, task)).result.result as string
