// The suite's tools, resources and prompts: a plugin like anyone else's, installed and exposed as an operator would.
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { root } from '../../scripts/toolchain.mjs'
import { buildFolder } from '../../cli/plugin-build.ts'

const folder = join(root, 'test', 'fixtures', 'plugins', 'mcp-fixtures')

export async function installFixtures({ url, key }) {
  const post = async (path, json) => {
    const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' }
    const response = await fetch(`${url}${path}`, {
      method: 'POST',
      headers,
      body: JSON.stringify(json),
    })
    const text = await response.text()
    if (!response.ok) throw new Error(`${path}: ${response.status} ${text}`)
    return JSON.parse(text)
  }
  if (!existsSync(folder)) return
  const { bundle } = await buildFolder(folder)
  const { plugin } = await post('/api/operator/plugins', { bundle })
  const { id, hash, asks: permit } = plugin
  await post(`/api/operator/plugins/${id}/grant`, { hash, permit, texts: true })
  await post(`/api/operator/plugins/${id}/enable`, {})
  const all = [`${id}__*`]
  // The first of them has a folder, which the suite wants to read.
  const skills = ['plugin-authoring', 'research']
  const exposed = { tools: all, bare_names: all, resources: [id], prompts: [id], skills }
  await post('/api/operator/exposed', { exposed })
}
