// An agent's folder (agent.yaml and the file of its instructions), or a JSON file, as the API takes it.
import { existsSync, readFileSync, realpathSync, statSync } from 'node:fs'
import { basename, dirname, join, resolve, sep } from 'node:path'
import { readYaml } from '../src/features/plugins/admission/read-yaml.ts'
import type { Request } from '../src/client/client.ts'
import { at } from './author-files.ts'
import { UsageError } from './options.ts'

/** A definition as it is sent; the server says what is wrong with it. */
type AgentBody = Request<'POST /api/agents'>['body']

const isFileName = (text: string) => /^[\w./-]+\.(md|txt|jinja|j2)$/.test(text)

/**
 * Reads `agent.yaml` of a folder, or a file of JSON or YAML; instructions that name a file beside it become its text.
 */
export function readAgentFolder(given: string): AgentBody {
  const path = at(given)
  const found = statSync(path, { throwIfNoEntry: false })
  if (!found) throw new UsageError(`${given}: there is no such folder or file.`)
  const file = found.isDirectory() ? join(path, 'agent.yaml') : path
  if (!existsSync(file)) throw new UsageError(`${given}: there is no agent.yaml in it.`)
  // A file that is named by itself may be a link: its user chose it. One in a folder is the folder's.
  const folder = found.isDirectory() ? realpathSync(path) : dirname(realpathSync(file))
  const value = readYaml(readIn(folder, file, basename(file)), basename(file))
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw new UsageError(`${basename(file)}: must be fields such as id, name and agent.`)
  const { agent } = value as { readonly agent?: unknown }
  const { instructions } = Object(agent) as { readonly instructions?: unknown }
  if (typeof instructions !== 'string' || !isFileName(instructions.trim()))
    return value as AgentBody
  const prompt = resolve(dirname(file), instructions.trim())
  if (!existsSync(prompt))
    throw new UsageError(
      `agent.instructions: there is no file ${instructions} beside ${basename(file)}.`,
    )
  const text = readIn(folder, prompt, `agent.instructions: ${instructions}`)
  return { ...value, agent: { ...Object(agent), instructions: text } } as AgentBody
}

/** A text of a folder that a stranger may have made: no link leads out of it, to a key of its sender. */
function readIn(folder: string, path: string, name: string): string {
  const real = realpathSync(path)
  if (!real.startsWith(`${folder}${sep}`))
    throw new UsageError(
      `${name} is not in the folder of the agent, or is a link that leads out of it.`,
    )
  if (!statSync(real).isFile()) throw new UsageError(`${name} is no file.`)
  // The mark at the beginning is an editor's.
  return readFileSync(real, 'utf8').replace(/^\ufeff/, '')
}
