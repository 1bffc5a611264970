#!/usr/bin/env node
// `npx isola …`: in a clone the command as it stands there, in an installed package what was built of it. Node builtins
// only, since this much runs on whatever Node the machine has.
import { spawn } from 'node:child_process'
import { join } from 'node:path'
import { isClone, root, toolNode } from './toolchain.mjs'

const words = process.argv.slice(2)
const clone = ['with-node24.mjs', 'isola.mjs'].map((name) => join(root, 'scripts', name))
const installed = [join(root, 'packed', 'isola.mjs')]

/** The Node that runs the command: in a clone with-node24.mjs finds it, and installs it first if it has to. */
function findNode() {
  if (isClone) return process.execPath
  try {
    return toolNode()
  } catch (error) {
    console.error(`isola: ${error.message}`)
    return process.exit(1)
  }
}

// Relative paths on the command line start from the user's folder (npm sets INIT_CWD for `npm run`).
const env = { ...process.env, INIT_CWD: process.cwd() }
const args = ['--no-warnings', ...(isClone ? clone : installed), ...words]
const child = spawn(findNode(), args, { env, stdio: 'inherit' })
for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => child.kill(signal))
child.on('exit', (code, signal) => process.exit(signal ? 1 : (code ?? 1)))
