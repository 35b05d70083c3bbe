//! The host: takes requests from the socket, calls the plugin, sends the replies.

mod library;
mod plugin;

use std::ffi::CString;
use std::io::{self, Write};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::process::ExitCode;

use nczarr_filter_plugins::message::{self, Operation, RequestHead};
use serde_json::json;

use plugin::{CBuffer, Plugin};

/// Serves the plugin in the first argument.
pub(crate) fn run() -> ExitCode {
    let Some(path) = std::env::args_os().nth(1).map(PathBuf::from) else {
        eprintln!("usage: nczarr-plugin-host PLUGIN (started by a program that uses the plugin)");
        return ExitCode::FAILURE;
    };
    match take_socket().and_then(|socket| serve(socket, Plugin::load(&path))) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("nczarr-plugin-host: {}: {error}", path.display());
            ExitCode::FAILURE
        }
    }
}

/// Takes the socket from the standard input. A plugin that reads the standard input then finds nothing.
fn take_socket() -> io::Result<UnixStream> {
    let socket = rustix::io::dup(rustix::stdio::stdin())?;
    rustix::stdio::dup2_stdin(std::fs::File::open("/dev/null")?)?;
    let socket = UnixStream::from(socket);
    socket.peer_addr()?;
    Ok(socket)
}

/// Answers requests until the input ends. All are refused if the plugin could not be loaded.
fn serve(mut socket: UnixStream, plugin: Result<Plugin, String>) -> io::Result<()> {
    while let Some(head) = message::receive(&mut socket)? {
        let data = CBuffer::read(&mut socket, head.len)?;
        let result = match &plugin {
            Ok(plugin) => answer(plugin, &head, data),
            Err(error) => Err(error.clone()),
        };
        match &result {
            Ok(bytes) => message::reply(&mut socket, Ok(bytes.bytes()))?,
            Err(error) => message::reply(&mut socket, Err(error))?,
        }
        socket.flush()?;
    }
    Ok(())
}

fn answer(plugin: &Plugin, head: &RequestHead, data: CBuffer) -> Result<CBuffer, String> {
    match head.operation {
        Operation::Describe => {
            let (codec, name) = (plugin.codec_id(), plugin.name());
            let (encode, decode) = (plugin.can_encode(), plugin.can_decode());
            let said =
                json!({"id": plugin.id(), "name": name, "codec": codec, "encode": encode, "decode": decode});
            CBuffer::copy(said.to_string().as_bytes())
        }
        Operation::Encode => plugin.filter(false, &head.params, data),
        Operation::Decode => plugin.filter(true, &head.params, data),
        Operation::ToParams => {
            let text =
                CString::new(data.bytes()).map_err(|_| "the codec description has a zero byte".to_owned())?;
            let params = plugin.params_of(&text)?;
            CBuffer::copy(&params.into_iter().flat_map(u32::to_le_bytes).collect::<Vec<_>>())
        }
        Operation::ToJson => CBuffer::copy(plugin.description_of(&head.params)?.to_bytes()),
    }
}
