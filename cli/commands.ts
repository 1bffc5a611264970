// Every command, in the order of the help.
import type { Module } from './command.ts'
import agent from './agent.ts'
import approval from './approval.ts'
import audit from './audit.ts'
import chat from './chat.ts'
import deploy from './deploy.ts'
import doctor from './doctor.ts'
import erasure from './erasure.ts'
import http from './http.ts'
import key from './key.ts'
import knowledge from './knowledge.ts'
import login from './login.ts'
import logs from './logs.ts'
import mcp from './mcp.ts'
import memory from './memory.ts'
import metrics from './metrics.ts'
import model from './model.ts'
import plugin from './plugin.ts'
import policy, { expose } from './policy.ts'
import run from './run.ts'
import schedule from './schedule.ts'
import secret from './secret.ts'
import session from './session.ts'
import skill from './skill.ts'
import status from './status.ts'
import subscription from './subscription.ts'
import trust from './trust.ts'
import usage from './spending.ts'

export const commands: readonly Module[] = [
  chat,
  session,
  run,
  schedule,
  subscription,
  approval,
  agent,
  usage,
  metrics,
  model,
  audit,
  key,
  login,
  plugin,
  mcp,
  policy,
  http,
  expose,
  memory,
  knowledge,
  erasure,
  skill,
  trust,
  secret,
  status,
  logs,
  doctor,
  deploy,
]
