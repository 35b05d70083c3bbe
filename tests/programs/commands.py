"""The commands that run with both libraries.

`{in}` and `{other}` are input files, `{out}` is the output. A command without `{out}` is compared by its text."""

NCO = [
    "ncap2 -h -O -s t2=tas*2 {in} {out}",
    "ncap2 -h -O -v -s m=tas.avg($time) {in} {out}",
    "ncatted -h -O -a units,tas,m,c,kelvin -a note,global,c,c,text {in} {out}",
    "ncatted -h -O -a long_name,,d,, {in} {out}",
    "ncbo -h -O --op_typ=sub {in} {other} {out}",
    "nces -h -O {in} {other} {out}",
    "ncecat -h -O {in} {other} {out}",
    "ncflint -h -O -w 0.25,0.75 {in} {other} {out}",
    "ncks -h -O -v tas -d time,2,7,2 {in} {out}",
    "ncks -h -O -7 -L 3 --cnk_dmn time,4 {in} {out}",
    "ncks -h -O -6 -x -v ta {in} {out}",
    "ncks -h -O --fix_rec_dmn time {in} {out}",
    "ncks -h -A -v orog {in} {out}",
    "ncks -m -v tas,pr {in}",
    "ncks -H -v pr -d time,1 {in}",
    "ncpdq -h -O -a lat,lon,time {in} {out}",
    "ncpdq -h -O -a -lat {in} {out}",
    "ncpdq -h -O -U {in} {out}",
    "ncra -h -O {in} {out}",
    "ncra -h -O --mro -d time,0,11,4,2,1 {in} {out}",
    "ncrcat -h -O {in} {other} {out}",
    "ncrename -h -O -v tas,t2m -d lon,x {in} {out}",
    "ncrename -h -O -a tas@units,unit {in} {out}",
    "ncwa -h -O -a lat,lon -w orog {in} {out}",
    "ncwa -h -O -y max -v ta -a lev {in} {out}",
]

CDO_ONE = [
    "copy", "-selname,tas", "-selname,tas,pr", "-delname,ta", "-sellevel,500", "-sellevidx,1/2", "-seltimestep,1/3",
    "-seltimestep,2/10/4", "-selmon,3", "-seldate,1980-02-01,1980-06-30", "-sellonlatbox,0,90,-45,45",
    "-selindexbox,1,4,1,3", "-chname,tas,t2m", "-setattribute,tas@note=text", "-setname,x -selname,tas",
    "-setmisstoc,0", "-setctomiss,0", "-setrtomiss,280,285", "-settaxis,2001-01-15,12:00,1mon", "-shifttime,1day",
    "-invertlat", "-addc,1", "-subc,1", "-mulc,2", "-divc,2", "-abs", "-sqr", "-sqrt", "-sin", "-cos", "-nint", "-int",
    "-gtc,280", "-ltc,280", "-expr,x=tas*2", "-aexpr,y=orog+1", "-timmean", "-timmin", "-timmax", "-timsum",
    "-timrange", "-timstd", "-timvar", "-yearmean", "-yearmax", "-monmean", "-daymean", "-seasmean", "-ymonmean",
    "-fldmean", "-fldmin", "-fldmax", "-fldsum", "-fldstd", "-fldrange", "-zonmean", "-zonmax", "-mermean", "-mermin",
    "-vertmean", "-vertmin", "-vertmax", "-vertsum", "-runmean,3", "-remapbil,r8x4", "-remapnn,r8x4", "-remapcon,r8x4",
    "-masklonlatbox,0,90,-45,45", "-histcount,0,250,280,300 -selname,tas", "-timcumsum",
]
CDO = (
    [f"cdo -s -O -b F64 -f {{format}} {operator} {{in}} {{out}}" for operator in CDO_ONE]
    + [f"cdo -s -O -b F64 -f {{format}} -{operator} {{in}} {{other}} {{out}}" for operator in
       ("add", "sub", "mul", "div", "min", "max", "atan2", "eq", "cat", "mergetime", "ensmean", "ensstd", "ifthen")]
    + [f"cdo -s -{operator} {{in}}" for operator in
       ("infon", "sinfon", "showname", "showdate", "showlevel", "ntime", "nlevel", "griddes", "zaxisdes", "showattribute")]
    + ["cdo -s -O -f nc4 -z zip_3 -copy {in} {out}", "cdo -s -O -f nc4 -k grid -copy {in} {out}", "cdo -s -O -f nc2 -copy {in} {out}"]
)
