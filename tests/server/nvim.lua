-- What docs/editor.md sets up, driven without a screen: prints what Neovim was told.
local file, command = vim.env.CPLC_FILE, vim.split(vim.env.CPLC_COMMAND, ' ')
vim.cmd('edit ' .. file)
local buf = vim.api.nvim_get_current_buf()
local id = vim.lsp.start_client({ name = 'cplc', cmd = command, root_dir = vim.fn.fnamemodify(file, ':h') })
vim.lsp.buf_attach_client(buf, id)
vim.wait(20000, function() return #vim.diagnostic.get(buf) > 0 end, 50)
for _, d in ipairs(vim.diagnostic.get(buf)) do
  print(('%d:%d %s %s'):format(d.lnum + 1, d.col + 1, tostring(d.code or d.user_data.lsp.code), d.message))
end
local at = { textDocument = { uri = vim.uri_from_bufnr(buf) }, position = { line = 3, character = 11 } }
local function ask(method, params)
  local answer = vim.lsp.buf_request_sync(buf, method, params, 20000)
  return answer and answer[id] and answer[id].result
end
print(vim.inspect(ask('textDocument/hover', at).contents.value))
local there = ask('textDocument/definition', at)
print('definition', (there[1].targetSelectionRange or there[1].range).start.line + 1)
local wanted = vim.tbl_extend('force', at, { newName = 'Merchant' })
vim.lsp.util.apply_workspace_edit(ask('textDocument/rename', wanted), vim.lsp.get_client_by_id(id).offset_encoding)
print(vim.api.nvim_buf_get_lines(buf, 3, 4, false)[1])
vim.cmd('qa!')
