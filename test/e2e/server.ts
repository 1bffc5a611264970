import { spawn, type ChildProcess } from 'node:child_process'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { createServer } from 'node:net'
import type { AddressInfo } from 'node:net'
import { giveDatabase } from './migrated.mjs'

/** The real thing: `npm start`'s program, in a process of its own. */
export interface RunningServer {
  readonly url: string
  readonly key: string
  readonly pid: number
  /** Ends it as a user would. */
  readonly stop: () => Promise<void>
  /** Ends it as a power cut would: every process of it at once, SIGKILL. */
  readonly kill: () => Promise<void>
}

export interface ServerOptions {
  /** Folder of the local data; the same one is the same deployment. */
  readonly state: string
  readonly port: number
  readonly env?: Readonly<Record<string, string>>
}

/** `fetch`, asked again while the server says that it starts: it does so too when a busy machine took it for hung. */
export async function reach(url: string, init: RequestInit = {}): Promise<Response> {
  for (;;) {
    const response = await fetch(url, init)
    if (response.status !== 503) return response
    if (!(await response.clone().text()).includes('The server is starting')) return response
    await new Promise((resolve) => setTimeout(resolve, 300))
  }
}

export async function freePort(): Promise<number> {
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  await new Promise((resolve) => server.close(resolve))
  return port
}

export async function startServer({
  state,
  port,
  env = {},
}: ServerOptions): Promise<RunningServer> {
  giveDatabase(state)
  const child = spawn(process.execPath, ['scripts/start.mjs'], {
    env: {
      ...process.env,
      OPENAI_API_KEY: '',
      OPENAI_BASE_URL: '',
      ISOLA_MODEL: '',
      PORT: String(port),
      ISOLA_STATE: state,
      ...env,
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const exited = new Promise<void>((resolve) => child.once('exit', () => resolve()))
  await ready(child)
  return {
    url: `http://127.0.0.1:${port}`,
    key: readKey(),
    pid: child.pid!,
    stop: async () => {
      child.kill('SIGTERM')
      await exited
    },
    kill: async () => {
      for (const pid of treeOf(child.pid!)) killNow(pid)
      await exited
    },
  }
}

async function ready(child: ChildProcess): Promise<void> {
  let output = ''
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  const look = (chunk: Buffer) => {
    output += chunk.toString()
    if (output.includes('Isola is running')) resolve()
  }
  child.stdout?.on('data', look)
  child.stderr?.on('data', look)
  child.once('exit', () => reject(new Error(`the server ended before it was ready:\n${output}`)))
  const timer = setTimeout(
    () => reject(new Error(`the server was not ready in time:\n${output}`)),
    240_000,
  )
  await promise.finally(() => clearTimeout(timer))
}

function readKey(): string {
  const text = existsSync('.dev.vars') ? readFileSync('.dev.vars', 'utf8') : ''
  return /^ISOLA_OPERATOR_KEY\s*=\s*"?([^"\n]+)"?/m.exec(text)?.[1] ?? ''
}

/** A process and all below it, deepest first. */
export function treeOf(root: number): number[] {
  const children = new Map<number, number[]>()
  for (const name of readdirSync('/proc')) {
    if (!/^\d+$/.test(name)) continue
    try {
      const stat = readFileSync(`/proc/${name}/stat`, 'utf8')
      const parent = Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1])
      children.set(parent, [...(children.get(parent) ?? []), Number(name)])
    } catch {
      // ended meanwhile
    }
  }
  const below = (pid: number): number[] => [...(children.get(pid) ?? []).flatMap(below), pid]
  return below(root)
}

function killNow(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL')
  } catch {
    // ended meanwhile
  }
}
