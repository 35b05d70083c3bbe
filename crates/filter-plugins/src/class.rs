//! A plugin as a filter class, and its filters.

use std::borrow::Cow;
use std::fmt;
use std::path::Path;
use std::sync::Arc;

use nczarr_codec::{Filter, FilterClass, FilterInfo, Json, OutBuf, ZarrFormat};
use nczarr_model::{ErrorKind, Result};
use serde_json::{Map, json};

use crate::hosts::PluginHosts;
use crate::message::Operation;

/// A plugin. Its filters run in processes of their own.
///
/// Its name is the id of its codec, or `hdf5-` and its HDF5 id. In Zarr V3 the codec has the prefix
/// `numcodecs.`, as zarr-python writes it.
#[derive(Debug)]
pub struct PluginClass(Arc<Plugin>);

#[derive(Debug)]
struct Plugin {
    info: FilterInfo,
    id: u32,
    /// The id of its codec in Zarr V2, if it has one.
    codec: Option<&'static str>,
    can_encode: bool,
    can_decode: bool,
    hosts: PluginHosts,
}

impl PluginClass {
    /// Starts a plugin and asks for its id and name. `host` is the program that loads it.
    ///
    /// The names live as long as the process, like those of a filter that is linked in.
    ///
    /// # Errors
    /// `NC_EPLUGIN` if the program does not start; `NC_EFILTER` if the file is no filter plugin.
    pub fn describe(host: &Path, file: &Path) -> Result<Self> {
        let hosts = PluginHosts::new(host, file);
        let text = hosts.ask_text(Operation::Describe, &[], &[])?;
        let damaged = || {
            let found = String::from_utf8_lossy(&text);
            ErrorKind::Plugin
                .context(format!("{}: the description is invalid (found {found})", file.display()))
        };
        let said: Json = serde_json::from_slice(&text).map_err(|error| damaged().caused_by(error))?;
        let id = said["id"].as_u64().and_then(|id| u32::try_from(id).ok()).ok_or_else(damaged)?;
        let (Some(can_encode), Some(can_decode)) = (said["encode"].as_bool(), said["decode"].as_bool())
        else {
            return Err(damaged());
        };
        let codec = said["codec"].as_str().map(leak);
        let about = format!("{} (plugin {})", said["name"].as_str().unwrap_or_default(), file.display());
        let v3_names: &[&str] = match codec {
            Some(codec) => Vec::leak(vec![leak(&format!("numcodecs.{codec}"))]),
            None => &[],
        };
        let name = codec.unwrap_or_else(|| leak(&format!("hdf5-{id}")));
        let info =
            FilterInfo { hdf5_id: Some(id), v3_names: Some(v3_names), ..FilterInfo::new(name, leak(&about)) };
        Ok(Self(Arc::new(Plugin { info, id, codec, can_encode, can_decode, hosts })))
    }

    /// Returns the registered HDF5 id.
    pub fn hdf5_id(&self) -> u32 {
        self.0.id
    }
}

fn leak(text: &str) -> &'static str {
    String::leak(text.to_owned())
}

impl FilterClass for PluginClass {
    fn info(&self) -> &FilterInfo {
        &self.0.info
    }

    /// Takes any parameters: only the plugin knows them, and it checks them with the first chunk.
    fn parse_params(&self, params: &[u32]) -> Result<Box<dyn Filter>> {
        Ok(Box::new(PluginFilter { plugin: Arc::clone(&self.0), params: params.into() }))
    }

    fn parse_json(&self, codec: &Json, format: ZarrFormat) -> Result<Box<dyn Filter>> {
        let plugin = &*self.0;
        let Some(id) = plugin.codec else {
            return Err(plugin.has_no_codec());
        };
        let members = if format == ZarrFormat::V2 { codec } else { &codec["configuration"] };
        let mut description = Map::from_iter([("id".to_owned(), json!(id))]);
        let members = members.as_object().into_iter().flatten();
        description.extend(members.map(|(name, value)| (name.clone(), value.clone())));
        let text = Json::Object(description).to_string();
        let bytes = plugin.hosts.ask_text(Operation::ToParams, &[], text.as_bytes())?;
        let (params, rest) = bytes.as_chunks();
        if !rest.is_empty() {
            return Err(
                ErrorKind::Plugin.context(format!("plugin {id}: {} bytes of parameters", bytes.len()))
            );
        }
        self.parse_params(&params.iter().map(|param| u32::from_le_bytes(*param)).collect::<Vec<_>>())
    }

    /// Only the plugin knows. Programs that compare values see a loss.
    fn is_lossless(&self) -> bool {
        false
    }

    fn can_encode(&self) -> bool {
        self.0.can_encode
    }
}

impl Plugin {
    fn has_no_codec(&self) -> nczarr_model::Error {
        ErrorKind::Filter.context(format!("filter {}: the plugin has no codec of Zarr", self.info.name))
    }
}

/// A filter of a plugin, with its parameters.
#[derive(Clone)]
struct PluginFilter {
    plugin: Arc<Plugin>,
    params: Arc<[u32]>,
}

impl fmt::Debug for PluginFilter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple(self.plugin.info.name).field(&self.params).finish()
    }
}

impl Filter for PluginFilter {
    fn info(&self) -> &FilterInfo {
        &self.plugin.info
    }

    fn params(&self) -> Cow<'_, [u32]> {
        Cow::Borrowed(&self.params)
    }

    /// Returns the codec description; `Null` if the plugin has no codec or refuses the parameters.
    fn to_json(&self, format: ZarrFormat) -> Json {
        let Some(id) = self.plugin.codec else { return Json::Null };
        let Ok(text) = self.plugin.hosts.ask_text(Operation::ToJson, &self.params, &[]) else {
            return Json::Null;
        };
        match (serde_json::from_slice(&text), format) {
            (Ok(description @ Json::Object(_)), ZarrFormat::V2) => description,
            (Ok(Json::Object(mut members)), ZarrFormat::V3) => {
                members.remove("id");
                json!({"name": format!("numcodecs.{id}"), "configuration": members})
            }
            _ => Json::Null,
        }
    }

    fn encode_bound(&self, _decoded: usize) -> Option<usize> {
        None
    }

    fn encode(&self, src: &[u8], dst: &mut OutBuf<'_>) -> Result<()> {
        self.plugin.hosts.ask(Operation::Encode, &self.params, src, dst)
    }

    fn decode(&self, src: &[u8], dst: &mut OutBuf<'_>) -> Result<()> {
        if !self.plugin.can_decode {
            return Err(ErrorKind::Filter
                .context(format!("filter {}: the plugin cannot decode", self.plugin.info.name)));
        }
        self.plugin.hosts.ask(Operation::Decode, &self.params, src, dst)
    }
}
