import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { readAgentFolder } from '../../../cli/agent-folder.ts'

let root = ''
const at = (path: string) => join(root, path)
const put = (path: string, text: string) => {
  mkdirSync(join(at(path), '..'), { recursive: true })
  writeFileSync(at(path), text)
}
const yaml = (instructions: string) => `id: a\nagent:\n  instructions: ${instructions}\n`
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'agent-'))
  put('outside/key', 'PRIVATE KEY')
  put('a/agent.yaml', yaml('prompt.md'))
})
afterEach(() => rmSync(root, { recursive: true }))
const refused = () => () => readAgentFolder(at('a'))

describe('T3: isola agent add sends nothing that lies outside of the folder', () => {
  it('follows no link of the prompt', () => {
    symlinkSync(at('outside/key'), at('a/prompt.md'))
    expect(refused()).toThrow(/link that leads out/)
  })

  it('follows no link of agent.yaml', () => {
    rmSync(at('a/agent.yaml'))
    symlinkSync(at('outside/key'), at('a/agent.yaml'))
    expect(refused()).toThrow(/link that leads out/)
  })

  it('follows no link of a folder below', () => {
    put('a/agent.yaml', yaml('more/prompt.md'))
    put('outside/prompt.md', 'PRIVATE')
    symlinkSync(at('outside'), at('a/more'))
    expect(refused()).toThrow(/link that leads out/)
  })

  it('follows no link over another link, and no path upwards', () => {
    symlinkSync(at('outside/key'), at('a/step.md'))
    symlinkSync(at('a/step.md'), at('a/prompt.md'))
    expect(refused()).toThrow(/link that leads out/)
    put('a/agent.yaml', yaml('../outside/key.md'))
    put('outside/key.md', 'PRIVATE')
    expect(refused()).toThrow(/not in the folder/)
    put('a-other/prompt.md', 'PRIVATE')
    put('a/agent.yaml', yaml('../a-other/prompt.md'))
    expect(refused()).toThrow(/not in the folder/)
  })

  it('reads no folder, and says what is not there', () => {
    mkdirSync(at('a/prompt.md'))
    expect(refused()).toThrow(/is no file/)
    rmSync(at('a/prompt.md'), { recursive: true })
    symlinkSync(at('a/gone.md'), at('a/prompt.md'))
    expect(refused()).toThrow(/there is no file/)
  })

  it('takes what its user names by a link, and links within the folder', () => {
    put('a/real.md', '\ufeffYou write.')
    symlinkSync(at('a/real.md'), at('a/prompt.md'))
    symlinkSync(at('a'), at('named'))
    const instructions = { agent: { instructions: 'You write.' } }
    expect(readAgentFolder(at('a'))).toMatchObject(instructions)
    expect(readAgentFolder(at('named'))).toMatchObject(instructions)
  })
})
