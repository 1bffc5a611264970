// Every command, in the order of the help.
import approval from './approval.mjs'
import audit from './audit.mjs'
import chat from './chat.mjs'
import deploy from './deploy.mjs'
import doctor from './doctor.mjs'
import expose from './expose.mjs'
import http from './http.mjs'
import key from './key.mjs'
import login from './login.mjs'
import mcp from './mcp.mjs'
import metrics from './metrics.mjs'
import model from './model.mjs'
import plugin from './plugin.mjs'
import policy from './policy.mjs'
import run from './run.mjs'
import secret from './secret.mjs'
import session from './session.mjs'
import trust from './trust.mjs'
import usage from './spending.mjs'

export const commands = [
  chat,
  session,
  run,
  approval,
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
  trust,
  secret,
  doctor,
  deploy,
]
